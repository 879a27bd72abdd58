// SipHash, and the secret key of the process.
#include <outlast/base/keyed_hash.hpp>

#include <sys/auxv.h>
#include <sys/random.h>

#include <atomic>
#include <bit>
#include <cstring>
#include <ctime>

namespace outlast::base {
namespace {

struct sip_state {
  std::uint64_t v0, v1, v2, v3;

  void round() noexcept {
    v0 += v1;
    v2 += v3;
    v1 = std::rotl(v1, 13) ^ v0;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 = std::rotl(v0, 32);
    v2 += v1;
    v0 += v3;
    v1 = std::rotl(v1, 17) ^ v2;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 = std::rotl(v2, 32);
  }
  template <int Rounds>
  void take(std::uint64_t word) noexcept {
    v3 ^= word;
    for (int i = 0; i < Rounds; ++i) round();
    v0 ^= word;
  }
};

static_assert(std::endian::native == std::endian::little);

/// The key early at boot, when the kernel has not enough randomness yet: the bytes that it gave the
/// process at its start, and the time.
hash_key drawn_without_kernel() noexcept {
  hash_key key{};
  if (const auto* given = reinterpret_cast<const void*>(::getauxval(AT_RANDOM))) {
    std::memcpy(&key, given, sizeof key);
  }
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const std::uint64_t time[] = {static_cast<std::uint64_t>(now.tv_sec),
                                static_cast<std::uint64_t>(now.tv_nsec)};
  const std::string_view bytes(reinterpret_cast<const char*>(time), sizeof time);
  return {sip_hash<2, 4>(key, bytes), sip_hash<2, 4>({key.second, key.first}, bytes)};
}

hash_key drawn() noexcept {
  hash_key key{};
  const auto wanted = static_cast<ssize_t>(sizeof key);
  return ::getrandom(&key, sizeof key, GRND_NONBLOCK) == wanted ? key : drawn_without_kernel();
}

constinit hash_key fixed_key{};
constinit std::atomic<bool> is_fixed = false;

const hash_key& key_of_process() noexcept {
  if (is_fixed.load(std::memory_order_acquire)) return fixed_key;
  static const hash_key key = drawn();
  return key;
}

}  // namespace

template <int Each, int Last>
std::uint64_t sip_hash(const hash_key& key, std::string_view bytes) noexcept {
  // The constants are the paper's.
  sip_state state{key.first ^ 0x736f6d6570736575U, key.second ^ 0x646f72616e646f6dU,
                  key.first ^ 0x6c7967656e657261U, key.second ^ 0x7465646279746573U};
  const std::uint64_t length = bytes.size();
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    state.take<Each>(word);
  }
  std::uint64_t rest = 0;
  if (!bytes.empty()) std::memcpy(&rest, bytes.data(), bytes.size());
  state.take<Each>(rest | length << 56);
  state.v2 ^= 0xff;
  for (int i = 0; i < Last; ++i) state.round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

template std::uint64_t sip_hash<1, 3>(const hash_key&, std::string_view) noexcept;
template std::uint64_t sip_hash<2, 4>(const hash_key&, std::string_view) noexcept;

std::uint64_t keyed_hash(std::string_view bytes) noexcept {
  return sip_hash<1, 3>(key_of_process(), bytes);
}

void fix_hash_key(const hash_key& key) noexcept {
  fixed_key = key;
  is_fixed.store(true, std::memory_order_release);
}

}  // namespace outlast::base
