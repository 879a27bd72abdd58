// A program in C that uses the engine, as calls for a test in C++.
#ifndef OUTLAST_TESTS_ENGINE_CALLS_H
#define OUTLAST_TESTS_ENGINE_CALLS_H

#include <outlast/server/engine.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Feeds a text in pieces of `piece` bytes (0: whole), as a server does, and compares the replies.
/// Returns 0, or the line of the first failure.
int engine_talk(outlast_conversation* with, const char* request, const char* replies, size_t piece,
                struct outlast_fed* last);
/// Uses a store, closes it, and opens it again. Returns 0, or the line of the first failure.
int engine_uses_store(const char* directory);
/// As engine_uses_store(), with a cache.
int engine_uses_cache(const char* file);
/// Passes wrong arguments to all functions. Returns 0, or the line of the first failure.
int engine_refuses_wrong_arguments(const char* directory);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif
