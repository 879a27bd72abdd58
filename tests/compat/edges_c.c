/* What programs in C do seldom, and by mistake. What it prints is the same with both libraries.

   usage: edges_c DIRECTORY */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leveldb/c.h"

static void print_error(const char* what, char** error) {
  printf("%s: %s\n", what, *error == NULL ? "no error" : "an error");
  leveldb_free(*error);
  *error = NULL;
}

static void end_state(void* count) { ++*(int*)count; }
static const char* name_of(void* count) {
  (void)count;
  return "edges.policy";
}
static char* make_filter(void* count, const char* const* keys, const size_t* lengths, int number,
                         size_t* length) {
  char* const made = (char*)malloc(1);
  (void)count;
  (void)keys;
  (void)lengths;
  made[0] = (char)number;
  *length = 1;
  return made;
}
static uint8_t may_match(void* count, const char* key, size_t length, const char* filter,
                         size_t filter_length) {
  (void)count;
  (void)key;
  (void)length;
  (void)filter;
  (void)filter_length;
  return 1;
}
static int compare(void* count, const char* a, size_t alen, const char* b, size_t blen) {
  const size_t shorter = alen < blen ? alen : blen;
  const int compared = shorter == 0 ? 0 : memcmp(a, b, shorter);
  (void)count;
  return compared != 0 ? compared : alen < blen ? -1 : alen > blen;
}

static void told_put(void* count, const char* k, size_t klen, const char* v, size_t vlen) {
  (void)count;
  printf(" +%.*s=%.*s", (int)klen, k, (int)vlen, v);
}
static void told_delete(void* count, const char* k, size_t klen) {
  (void)count;
  printf(" -%.*s", (int)klen, k);
}

static void use_batches(leveldb_t* db, const leveldb_writeoptions_t* how) {
  char* error = NULL;
  leveldb_writebatch_t* const batch = leveldb_writebatch_create();
  leveldb_writebatch_append(batch, batch);
  leveldb_write(db, how, batch, &error);
  print_error("empty batch", &error);
  leveldb_writebatch_put(batch, "", 0, "", 0);
  leveldb_writebatch_put(batch, "a", 1, NULL, 0);
  leveldb_writebatch_delete(batch, "b", 1);
  leveldb_writebatch_append(batch, batch);
  leveldb_writebatch_iterate(batch, NULL, told_put, told_delete);
  leveldb_write(db, how, batch, &error);
  leveldb_write(db, how, batch, &error);
  print_error("\nbatch", &error);
  leveldb_writebatch_clear(batch);
  leveldb_writebatch_iterate(batch, NULL, told_put, told_delete);
  leveldb_writebatch_destroy(batch);
}

static void use_values(leveldb_t* db, const leveldb_writeoptions_t* how,
                       const leveldb_readoptions_t* now) {
  char* error = NULL;
  size_t length = 77;
  char* value = leveldb_get(db, now, "none", 4, &length, &error);
  printf("none: %d %d\n", value == NULL, (int)length);
  leveldb_put(db, how, NULL, 0, NULL, 0, &error);
  print_error("empty key and value", &error);
  value = leveldb_get(db, now, "", 0, &length, &error);
  printf("empty: %d %d\n", value != NULL, (int)length);
  leveldb_free(value);
  leveldb_delete(db, how, "", 0, &error);
  leveldb_delete(db, how, "", 0, &error);
  print_error("deleted twice", &error);
  leveldb_free(NULL);
}

static void use_iterators(leveldb_t* db, const leveldb_readoptions_t* now) {
  char* error = NULL;
  leveldb_iterator_t* const at = leveldb_create_iterator(db, now);
  printf("at first: %d\n", leveldb_iter_valid(at));
  leveldb_iter_seek(at, NULL, 0);
  printf("from nothing: %d\n", leveldb_iter_valid(at));
  leveldb_iter_seek_to_last(at);
  leveldb_iter_next(at);
  printf("behind the last: %d\n", leveldb_iter_valid(at));
  leveldb_iter_seek_to_first(at);
  leveldb_iter_prev(at);
  printf("before the first: %d\n", leveldb_iter_valid(at));
  leveldb_iter_get_error(at, &error);
  print_error("error", &error);
  leveldb_iter_destroy(at);
}

static void ask(leveldb_t* db) {
  const char* const starts[] = {"z", ""};
  const char* const limits[] = {"a", ""};
  const size_t start_lengths[] = {1, 0};
  const size_t limit_lengths[] = {1, 0};
  uint64_t sizes[2] = {7, 7};
  leveldb_approximate_sizes(db, 0, NULL, NULL, NULL, NULL, NULL);
  leveldb_approximate_sizes(db, 2, starts, start_lengths, limits, limit_lengths, sizes);
  printf("sizes: %d %d\n", (int)sizes[0], (int)sizes[1]);
  leveldb_compact_range(db, "z", 1, "a", 1);
  leveldb_compact_range(db, "", 0, NULL, 0);
  leveldb_compact_range(db, NULL, 0, "", 0);
  printf("property: %d\n", leveldb_property_value(db, "") != NULL);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  char* error = NULL;
  int ends = 0;
  leveldb_comparator_t* const order = leveldb_comparator_create(&ends, end_state, compare, name_of);
  leveldb_filterpolicy_t* const filter =
      leveldb_filterpolicy_create(&ends, end_state, make_filter, may_match, name_of);
  leveldb_env_t* const env = leveldb_create_default_env();
  leveldb_options_t* const options = leveldb_options_create();
  leveldb_options_set_comparator(options, order);
  leveldb_options_set_filter_policy(options, filter);
  leveldb_options_set_filter_policy(options, NULL);
  leveldb_options_set_env(options, env);
  leveldb_options_set_info_log(options, NULL);
  leveldb_options_set_compression(options, 0);
  leveldb_t* db = leveldb_open(options, argv[1], &error);
  printf("missing: %d\n", db == NULL);
  db = leveldb_open(options, argv[1], &error); /* the old message is freed */
  print_error("missing", &error);
  leveldb_destroy_db(options, argv[1], &error);
  print_error("destroyed before it is there", &error);
  leveldb_options_set_create_if_missing(options, 2);
  db = leveldb_open(options, argv[1], &error);
  print_error("open", &error);
  printf("twice: %d\n", leveldb_open(options, argv[1], &error) == NULL);
  print_error("twice", &error);

  leveldb_writeoptions_t* const how = leveldb_writeoptions_create();
  leveldb_readoptions_t* const now = leveldb_readoptions_create();
  leveldb_readoptions_set_snapshot(now, NULL);
  use_values(db, how, now);
  use_batches(db, how);
  use_iterators(db, now);
  ask(db);
  leveldb_close(db);
  leveldb_destroy_db(options, argv[1], &error);
  leveldb_destroy_db(options, argv[1], &error);
  print_error("destroyed twice", &error);

  leveldb_env_t* const default_env = leveldb_create_default_env();
  char* const folder = leveldb_env_get_test_directory(default_env);
  printf("folder for tests: %d\n", folder != NULL);
  leveldb_free(folder);
  leveldb_env_destroy(default_env);
  leveldb_writeoptions_destroy(how);
  leveldb_readoptions_destroy(now);
  leveldb_options_destroy(options);
  leveldb_comparator_destroy(order);
  leveldb_filterpolicy_destroy(filter);
  leveldb_env_destroy(env);
  printf("ended: %d\n", ends);
  return 0;
}
