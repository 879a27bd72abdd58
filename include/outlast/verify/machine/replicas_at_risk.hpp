// What transaction engines promise of the media at every moment.
#pragma once

#include <outlast/verify/machine/memory.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace outlast::verify {

/// An engine's durable word names a replica. Whichever copy of the word survives a crash, of that
/// replica everything does: nothing in it is at risk. Stronger than what recovery can see, which
/// reads what the operations look at.
///
/// Thread-safety: used by one thread.
class replicas_at_risk {
 public:
  /// `of`: a tx::detail::replica_session, from which no reference is kept.
  template <class Session>
  explicit replicas_at_risk(const Session& of)
      : word_(&of.durable_word()), naming_bits_(of.named_by(~std::uint64_t{0})) {
    for (unsigned i = 0; i < of.replicas(); ++i) {
      replicas_.push_back({of.replica(i), of.replica(i) + of.bytes()});
    }
  }

  /// Empty, or what is wrong.
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
