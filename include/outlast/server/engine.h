// A server without sockets, for programs in C and in languages that call C: a key space in files,
// and conversations of memcached or RESP over it.
//
//   outlast_space* space;
//   outlast_conversation* client;
//   struct outlast_fed fed;
//   if (outlast_space_open_store("/var/lib/app/store", NULL, &space) != outlast_ok) ...
//   outlast_conversation_open(space, outlast_resp, &client);
//   outlast_feed(client, "PING\r\n", 6, now_ms, &fed);  // sends fed.replies
//   outlast_conversation_close(client);
//   outlast_space_close(space);
//
// Every function that can fail returns a code, and describes the failure by outlast_last_error().
// No exception leaves a function. Thread-safety: functions of a space may be called concurrently,
// except outlast_space_close(). One thread at a time may use a conversation. After a fork() only
// the parent may use a space that was opened before.
#ifndef OUTLAST_SERVER_ENGINE_H
#define OUTLAST_SERVER_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct outlast_space outlast_space;
typedef struct outlast_conversation outlast_conversation;

/// Results of functions.
enum outlast_code {
  outlast_ok = 0,
  outlast_out_of_memory = 1,
  outlast_bad_argument = 2,
  outlast_no_space = 3,    ///< the store, the pool or the file system is full
  outlast_not_found = 4,   ///< the directory or the file is missing
  outlast_in_use = 5,      ///< another opener has the files, or conversations have the space
  outlast_refused = 6,     ///< the files are of another program, a later format or another machine
  outlast_damaged = 7,     ///< the data are inconsistent
  outlast_io_failure = 8,  ///< the device or the system reported an error
  outlast_failed = 9       ///< another failure
};

enum outlast_protocol { outlast_memcached = 0, outlast_resp = 1 };

/// Options of a store. All members 0: the defaults.
struct outlast_store_options {
  uint64_t capacity_bytes;  ///< 0: to the end of the file system; db::StoreOptions describes it
  /// Maximum time between a change without `sync` and its durability on a disk; 0: 10,000.
  uint64_t max_unsynced_us;
  int sync;                  ///< not 0: a change is durable when its reply is returned
  int is_durable_at_return;  ///< not 0: as stored_items_options::is_durable_at_return
  int must_exist;            ///< not 0: a missing store is not created
};

/// Options of a cache. All members 0: the defaults.
struct outlast_cache_options {
  uint64_t limit_bytes;     ///< bytes of items beyond which the cache evicts; 0: no bound
  uint64_t capacity_bytes;  ///< of the file; 0: to the end of the file system
};

/// The result of outlast_feed().
struct outlast_fed {
  /// Bytes of the input that were taken. The caller passes the others again, with what it received
  /// meanwhile.
  size_t taken;
  /// The replies are true after every crash when outlast_space_durable_token() is not below.
  uint64_t version;
  int waits;   ///< not 0: the client asked for replies that wait for that
  int closes;  ///< not 0: the client asked for the end of the connection
  /// Not 0: the replies are long. The caller sends them, and calls again with the bytes that were
  /// not taken, if there are any.
  int pauses;
  /// The replies, without a zero at the end. Valid until the next call with the conversation.
  const char* replies;
  size_t replies_bytes;
};

/// Opens the items in a store, and creates the store if it is missing. `options`: NULL for the
/// defaults. Sets *space, or NULL after a failure. Durability: server::stored_items describes it.
int outlast_space_open_store(const char* directory, const struct outlast_store_options* options,
                             outlast_space** space);
/// Opens the items of a cache in a pool file, and creates the file if it is missing. A crash removes
/// the changes of the last two epochs, of 10 ms each.
int outlast_space_open_cache(const char* file, const struct outlast_cache_options* options,
                             outlast_space** space);
/// Closes the files. Does nothing for NULL. Returns outlast_in_use, without effect, while the space
/// has conversations. No other function may run with the space.
int outlast_space_close(outlast_space* space);
/// Returns the greatest token that is reached: replies with this version or a smaller one are
/// durable. Tokens of different openings are not comparable.
uint64_t outlast_space_durable_token(const outlast_space* space);
/// Waits until all changes before the call are durable. A store that is not durable at return
/// reaches its tokens by this call alone.
int outlast_space_make_durable(outlast_space* space);
/// Removes items that have expired or were erased among the next `count` items or buckets, and
/// continues there with the next call. One thread at a time. Milliseconds since 1970.
int outlast_space_sweep(outlast_space* space, int64_t now_ms, size_t count);

/// Begins a conversation of a protocol (enum outlast_protocol). Sets *conversation, or NULL after a
/// failure.
int outlast_conversation_open(outlast_space* space, int protocol,
                              outlast_conversation** conversation);
/// Ends a conversation. Does nothing for NULL.
void outlast_conversation_close(outlast_conversation* conversation);
/// Executes the requests in the bytes. Replies report failures of the space to the client. After a
/// code other than outlast_ok there are no replies, and the caller closes the connection and the
/// conversation. `bytes` may be NULL if `length` is 0. Milliseconds since 1970.
int outlast_feed(outlast_conversation* conversation, const char* bytes, size_t length,
                 int64_t now_ms, struct outlast_fed* out);

/// Returns the description of the last failure in the calling thread, or an empty string. Valid
/// until the next failure in this thread. Never NULL.
const char* outlast_last_error(void);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif
