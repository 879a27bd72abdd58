#include <bench/engine/machine.hpp>

#include <bench/commit.hpp>
#include <outlast/hw/flush.hpp>

#include <sched.h>
#include <sys/utsname.h>

#include <fstream>

namespace outlast::bench {
namespace {

/// The value of the first line `key : value` of /proc/cpuinfo whose key is `key`.
std::string cpuinfo(std::string_view key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return {};
}

std::string processor() {
  utsname system{};
  uname(&system);
  const std::string model = cpuinfo("model name");
  return (model.empty() ? std::string("unnamed processor") : model) + " (" + system.machine + ")";
}

std::string kernel() {
  utsname system{};
  uname(&system);
  return std::string(system.sysname) + " " + system.release;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer) || __has_feature(undefined_behavior_sanitizer)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif
#else
constexpr bool sanitized = false;
#endif

#if defined(__OPTIMIZE__)
constexpr bool optimised = true;
#else
constexpr bool optimised = false;
#endif

}  // namespace

std::string machine_description() {
  return processor() + ", " + std::to_string(usable_cpus().size()) + " CPUs, " + kernel() + ", " +
         std::string(hw::name_of(hw::chosen_flush_instruction()));
}

std::string_view build_commit() { return commit; }

std::string build_description() { return OUTLAST_BENCH_BUILD; }

std::string recording_refusal() {
  if (sanitized || std::string_view(OUTLAST_BENCH_SANITIZE) != "") {
    return "this is a sanitizer build, whose figures mean nothing";
  }
  if (!optimised) return "this build is not optimised, so its figures mean nothing";
  return {};
}

std::vector<int> usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

bool pin_this_thread(int cpu) noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

}  // namespace outlast::bench
