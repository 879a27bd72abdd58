// A program in C that uses the engine, as calls for a test in C++.
#include <tests/unit/server/engine_calls.h>

#include <stdlib.h>
#include <string.h>

#define REQUIRE(condition)             \
  do {                                 \
    if (!(condition)) return __LINE__; \
  } while (0)

static const int64_t now_ms = 1700000000000;

int engine_talk(outlast_conversation* with, const char* request, const char* replies, size_t piece,
                struct outlast_fed* last) {
  const size_t length = strlen(request);
  const size_t expected = strlen(replies);
  size_t at = 0;
  size_t end = piece == 0 ? length : 0;
  size_t compared = 0;
  do {
    if (piece != 0) end = end + piece < length ? end + piece : length;
    do {
      REQUIRE(outlast_feed(with, request + at, end - at, now_ms, last) == outlast_ok);
      REQUIRE(last->taken <= end - at);
      at += last->taken;
      REQUIRE(last->replies_bytes <= expected - compared);
      REQUIRE(memcmp(last->replies, replies + compared, last->replies_bytes) == 0);
      compared += last->replies_bytes;
    } while (last->pauses != 0 && at < end);
  } while (end < length);
  REQUIRE(at == length);
  REQUIRE(compared == expected);
  return 0;
}

static int use_space(outlast_space* space) {
  outlast_conversation* text = NULL;
  outlast_conversation* resp = NULL;
  struct outlast_fed fed;
  REQUIRE(outlast_conversation_open(space, outlast_memcached, &text) == outlast_ok);
  REQUIRE(outlast_conversation_open(space, outlast_resp, &resp) == outlast_ok);
  REQUIRE(outlast_space_close(space) == outlast_in_use);
  REQUIRE(strstr(outlast_last_error(), "conversations") != NULL);

  REQUIRE(engine_talk(text, "set a 7 0 3\r\nabc\r\nget a\r\n",
                      "STORED\r\nVALUE a 7 3\r\nabc\r\nEND\r\n", 0, &fed) == 0);
  REQUIRE(engine_talk(resp, "*3\r\n$6\r\nAPPEND\r\n$1\r\na\r\n$2\r\nde\r\n", ":5\r\n", 3, &fed) ==
          0);
  REQUIRE(fed.waits == 0 && fed.closes == 0);
  REQUIRE(engine_talk(resp, "MULTI\r\nINCR n\r\nINCR n\r\nEXEC\r\n",
                      "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n:2\r\n", 0, &fed) == 0);

  REQUIRE(engine_talk(text, "durable on\r\n", "OK\r\n", 0, &fed) == 0);
  REQUIRE(engine_talk(text, "set b 0 0 1\r\nx\r\n", "STORED\r\n", 0, &fed) == 0);
  REQUIRE(fed.waits != 0);
  REQUIRE(outlast_space_make_durable(space) == outlast_ok);
  REQUIRE(outlast_space_durable_token(space) >= fed.version);

  REQUIRE(engine_talk(text, "set gone 0 -1 1\r\nx\r\n", "STORED\r\n", 1, &fed) == 0);
  REQUIRE(outlast_space_sweep(space, now_ms, 10000) == outlast_ok);
  REQUIRE(engine_talk(text, "quit\r\n", "", 0, &fed) == 0);
  REQUIRE(fed.closes != 0);
  outlast_conversation_close(text);
  outlast_conversation_close(resp);
  return 0;
}

static int read_again(outlast_space* space) {
  outlast_conversation* text = NULL;
  struct outlast_fed fed;
  REQUIRE(outlast_conversation_open(space, outlast_memcached, &text) == outlast_ok);
  REQUIRE(engine_talk(text, "get a n b gone\r\n",
                      "VALUE a 7 5\r\nabcde\r\nVALUE n 0 1\r\n2\r\nVALUE b 0 1\r\nx\r\nEND\r\n", 0,
                      &fed) == 0);
  outlast_conversation_close(text);
  return 0;
}

int engine_uses_store(const char* directory) {
  struct outlast_store_options options;
  outlast_space* space = NULL;
  outlast_space* second = NULL;
  int line = 0;
  memset(&options, 0, sizeof options);
  REQUIRE(outlast_space_open_store(directory, NULL, &space) == outlast_ok);
  line = use_space(space);
  REQUIRE(line == 0);
  REQUIRE(outlast_space_open_store(directory, NULL, &second) == outlast_in_use);
  REQUIRE(second == NULL);
  REQUIRE(strstr(outlast_last_error(), directory) != NULL);
  REQUIRE(outlast_space_close(space) == outlast_ok);
  options.sync = 1;
  options.must_exist = 1;
  options.max_unsynced_us = 1000000;
  REQUIRE(outlast_space_open_store(directory, &options, &space) == outlast_ok);
  line = read_again(space);
  REQUIRE(outlast_space_close(space) == outlast_ok);
  return line;
}

int engine_uses_cache(const char* file) {
  struct outlast_cache_options options;
  outlast_space* space = NULL;
  int line = 0;
  memset(&options, 0, sizeof options);
  options.limit_bytes = 1 << 20;
  options.capacity_bytes = 32 << 20;
  REQUIRE(outlast_space_open_cache(file, &options, &space) == outlast_ok);
  line = use_space(space);
  REQUIRE(line == 0);
  REQUIRE(outlast_space_close(space) == outlast_ok);
  REQUIRE(outlast_space_open_cache(file, NULL, &space) == outlast_ok);
  line = read_again(space);
  REQUIRE(outlast_space_close(space) == outlast_ok);
  return line;
}

int engine_refuses_wrong_arguments(const char* directory) {
  outlast_space* space = NULL;
  outlast_conversation* client = NULL;
  struct outlast_fed fed;
  struct outlast_store_options options;
  memset(&options, 0, sizeof options);
  options.must_exist = 1;
  REQUIRE(outlast_space_open_store(NULL, NULL, &space) == outlast_bad_argument);
  REQUIRE(outlast_space_open_store(directory, NULL, NULL) == outlast_bad_argument);
  REQUIRE(outlast_space_open_store(directory, &options, &space) == outlast_not_found);
  REQUIRE(space == NULL);
  REQUIRE(strstr(outlast_last_error(), directory) != NULL);
  REQUIRE(outlast_space_open_cache("/no/such/folder/pool", NULL, &space) == outlast_not_found);
  REQUIRE(outlast_conversation_open(NULL, outlast_resp, &client) == outlast_bad_argument);
  REQUIRE(outlast_space_make_durable(NULL) == outlast_bad_argument);
  REQUIRE(outlast_space_sweep(NULL, 0, 1) == outlast_bad_argument);
  REQUIRE(outlast_space_durable_token(NULL) == 0);
  REQUIRE(outlast_space_close(NULL) == outlast_ok);
  outlast_conversation_close(NULL);
  REQUIRE(outlast_feed(NULL, "x", 1, 0, &fed) == outlast_bad_argument);
  REQUIRE(fed.replies != NULL && fed.replies_bytes == 0);
  REQUIRE(outlast_feed(NULL, "x", 1, 0, NULL) == outlast_bad_argument);

  REQUIRE(outlast_space_open_store(directory, NULL, &space) == outlast_ok);
  REQUIRE(outlast_conversation_open(space, 7, &client) == outlast_bad_argument);
  REQUIRE(client == NULL);
  REQUIRE(outlast_conversation_open(space, outlast_resp, NULL) == outlast_bad_argument);
  REQUIRE(outlast_conversation_open(space, outlast_resp, &client) == outlast_ok);
  REQUIRE(outlast_feed(client, NULL, 1, 0, &fed) == outlast_bad_argument);
  REQUIRE(outlast_feed(client, NULL, 0, 0, &fed) == outlast_ok);
  REQUIRE(fed.taken == 0 && fed.replies_bytes == 0 && fed.replies != NULL);
  outlast_conversation_close(client);
  REQUIRE(outlast_space_close(space) == outlast_ok);
  return 0;
}
