// What a process takes of its system.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace outlast::test::soak {

/// Names of quantities, and how much of each there is.
using sample = std::map<std::string, std::int64_t>;

/// Memory of this process, blocks of the heap in use, descriptors and threads.
[[nodiscard]] sample process_sample();

/// What a file, or all files in a folder, take of their file system; 0 if there is none.
[[nodiscard]] std::int64_t allocated_bytes(const std::filesystem::path& of);

/// For each quantity the greater one.
void raise_to(sample& most, const sample& by);

/// How often this process has had a file synced. The linker sends these calls through here.
[[nodiscard]] std::uint64_t syncs_until_now();

/// Threads of the soak itself are named here while they run; the first one is by itself.
void this_thread_is_ours();
void this_thread_ends();

/// How often threads that are not the soak's have gone to sleep.
[[nodiscard]] std::uint64_t sleeps_of_the_library();

}  // namespace outlast::test::soak
