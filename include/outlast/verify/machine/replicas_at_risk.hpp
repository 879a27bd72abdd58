// The guarantee of transaction engines about the media at every moment.
#pragma once

#include <outlast/verify/machine/memory.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace outlast::verify {

/// Checks the replica that an engine's durable word names. For each copy of the word that can
/// survive a crash, no store to the named replica may be at risk. This is stronger than a check
/// after recovery, which reads only the data that the operations read.
///
/// Thread-safety: used by one thread.
class replicas_at_risk {
 public:
  /// `of` is a tx::detail::replica_session. No reference to it is kept.
  template <class Session>
  explicit replicas_at_risk(const Session& of)
      : word_(&of.durable_word()), naming_bits_(of.named_by(~std::uint64_t{0})) {
    for (unsigned i = 0; i < of.replicas(); ++i) {
      replicas_.push_back({of.replica(i), of.replica(i) + of.bytes()});
    }
  }

  /// Returns the first defect, or "".
  [[nodiscard]] std::string check(const memory& media) const;

 private:
  struct range {
    const std::byte* begin;
    const std::byte* end;
  };

  [[nodiscard]] std::string check_named_by(std::uint64_t word, const memory& media) const;

  const std::atomic<std::uint64_t>* word_;
  std::uint64_t naming_bits_;
  std::vector<range> replicas_;
};

}  // namespace outlast::verify
