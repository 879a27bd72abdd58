/* A program in C as people write them for LevelDB. It knows nothing of outlast. What it prints is
   the same with both libraries.

   usage: notes_c DIRECTORY */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leveldb/c.h"

static void check(char* error) {
  if (error == NULL) return;
  printf("failed: %s\n", error);
  exit(1);
}

/* Longer keys first. */
static int compare_lengths(void* calls, const char* a, size_t alen, const char* b, size_t blen) {
  ++*(int*)calls;
  if (alen != blen) return alen > blen ? -1 : 1;
  return memcmp(a, b, alen);
}
static const char* name_of_lengths(void* calls) {
  (void)calls;
  return "notes.Lengths";
}
static void end_of_lengths(void* calls) { printf("compared: %d\n", *(int*)calls > 0); }

static void print_put(void* count, const char* k, size_t klen, const char* v, size_t vlen) {
  ++*(int*)count;
  printf("  put %.*s = %.*s\n", (int)klen, k, (int)vlen, v);
}
static void print_deleted(void* count, const char* k, size_t klen) {
  ++*(int*)count;
  printf("  delete %.*s\n", (int)klen, k);
}

static void print_value(leveldb_t* db, const leveldb_readoptions_t* options, const char* key) {
  char* error = NULL;
  size_t length = 77;
  char* const value = leveldb_get(db, options, key, strlen(key), &length, &error);
  check(error);
  if (value == NULL) {
    printf("%s: none, %zu\n", key, length);
  } else {
    printf("%s: %.*s\n", key, (int)length, value);
  }
  leveldb_free(value);
}

static void print_all(leveldb_t* db, const leveldb_readoptions_t* options) {
  char* error = NULL;
  leveldb_iterator_t* const at = leveldb_create_iterator(db, options);
  for (leveldb_iter_seek_to_first(at); leveldb_iter_valid(at); leveldb_iter_next(at)) {
    size_t key_length, value_length;
    const char* const key = leveldb_iter_key(at, &key_length);
    const char* const value = leveldb_iter_value(at, &value_length);
    printf("  %.*s: %.*s\n", (int)key_length, key, (int)value_length, value);
  }
  leveldb_iter_seek_to_last(at);
  leveldb_iter_prev(at);
  leveldb_iter_seek(at, "bb", 2);
  printf("from bb on: %d\n", leveldb_iter_valid(at));
  leveldb_iter_get_error(at, &error);
  check(error);
  leveldb_iter_destroy(at);
}

static void change_at_once(leveldb_t* db, const leveldb_writeoptions_t* options) {
  char* error = NULL;
  int count = 0;
  leveldb_writebatch_t* const batch = leveldb_writebatch_create();
  leveldb_writebatch_t* const more = leveldb_writebatch_create();
  leveldb_writebatch_put(batch, "x", 1, "forgotten", 9);
  leveldb_writebatch_clear(batch);
  leveldb_writebatch_put(batch, "bb", 2, "two", 3);
  leveldb_writebatch_put(batch, "dddd", 4, "four", 4);
  leveldb_writebatch_delete(more, "a", 1);
  leveldb_writebatch_append(batch, more);
  leveldb_writebatch_iterate(batch, &count, print_put, print_deleted);
  printf("changes: %d\n", count);
  leveldb_write(db, options, batch, &error);
  check(error);
  leveldb_writebatch_destroy(batch);
  leveldb_writebatch_destroy(more);
}

static void ask(leveldb_t* db) {
  const char* const starts[] = {"zzzz"};
  const char* const limits[] = {"a"};
  const size_t start_lengths[] = {4};
  const size_t limit_lengths[] = {1};
  uint64_t sizes[1] = {0};
  char* const stats = leveldb_property_value(db, "leveldb.stats");
  char* const none = leveldb_property_value(db, "no such");
  printf("properties: %d %d\n", stats != NULL, none != NULL);
  leveldb_free(stats);
  leveldb_approximate_sizes(db, 1, starts, start_lengths, limits, limit_lengths, sizes);
  leveldb_compact_range(db, NULL, 0, NULL, 0);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  char* error = NULL;
  int calls = 0;
  leveldb_comparator_t* const order =
      leveldb_comparator_create(&calls, end_of_lengths, compare_lengths, name_of_lengths);
  leveldb_cache_t* const cache = leveldb_cache_create_lru(1 << 20);
  leveldb_filterpolicy_t* const filter = leveldb_filterpolicy_create_bloom(10);
  leveldb_env_t* const env = leveldb_create_default_env();
  leveldb_options_t* const options = leveldb_options_create();
  leveldb_options_set_comparator(options, order);
  leveldb_options_set_cache(options, cache);
  leveldb_options_set_env(options, env);
  leveldb_options_set_info_log(options, NULL);
  leveldb_options_set_write_buffer_size(options, 1 << 20);
  leveldb_options_set_paranoid_checks(options, 1);
  leveldb_options_set_max_open_files(options, 10);
  leveldb_options_set_block_size(options, 1024);
  leveldb_options_set_block_restart_interval(options, 8);
  leveldb_options_set_max_file_size(options, 1 << 20);
  leveldb_options_set_compression(options, leveldb_no_compression);
  leveldb_options_set_error_if_exists(options, 1);
  leveldb_t* db = leveldb_open(options, argv[1], &error);
  printf("without create_if_missing: %d %d\n", db != NULL, error != NULL);
  leveldb_free(error);
  error = NULL;
  leveldb_options_set_create_if_missing(options, 1);
  db = leveldb_open(options, argv[1], &error);
  check(error);

  leveldb_writeoptions_t* const durably = leveldb_writeoptions_create();
  leveldb_readoptions_t* const now = leveldb_readoptions_create();
  leveldb_readoptions_t* const then = leveldb_readoptions_create();
  leveldb_writeoptions_set_sync(durably, 1);
  leveldb_readoptions_set_verify_checksums(now, 1);
  leveldb_readoptions_set_fill_cache(now, 0);
  leveldb_put(db, durably, "a", 1, "one", 3, &error);
  leveldb_put(db, durably, "ccc", 3, "three", 5, &error);
  leveldb_put(db, durably, "e", 1, "", 0, &error);
  leveldb_delete(db, durably, "e", 1, &error);
  check(error);
  const leveldb_snapshot_t* const snapshot = leveldb_create_snapshot(db);
  leveldb_readoptions_set_snapshot(then, snapshot);
  change_at_once(db, durably);
  print_value(db, now, "a");
  print_value(db, then, "a");
  print_value(db, now, "dddd");
  print_all(db, now);
  print_all(db, then);
  leveldb_release_snapshot(db, snapshot);
  ask(db);
  leveldb_close(db);

  db = leveldb_open(options, argv[1], &error);
  printf("exists: %d %d\n", db != NULL, error != NULL);
  leveldb_repair_db(options, argv[1], &error); /* the old message is freed where it fails */
  leveldb_free(error);
  error = NULL;
  leveldb_options_set_error_if_exists(options, 0);
  db = leveldb_open(options, argv[1], &error);
  check(error);
  print_all(db, now);
  leveldb_close(db);
  leveldb_destroy_db(options, argv[1], &error);
  check(error);

  leveldb_writeoptions_destroy(durably);
  leveldb_readoptions_destroy(now);
  leveldb_readoptions_destroy(then);
  leveldb_options_destroy(options);
  leveldb_comparator_destroy(order);
  leveldb_filterpolicy_destroy(filter);
  leveldb_cache_destroy(cache);
  leveldb_env_destroy(env);
  printf("like LevelDB %d.%d\n", leveldb_major_version(), leveldb_minor_version());
  return 0;
}
