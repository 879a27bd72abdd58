// The check that the named replica has no store at risk.
#include <outlast/verify/machine/replicas_at_risk.hpp>

namespace outlast::verify {

std::string replicas_at_risk::check(const memory& media) const {
  std::string wrong = check_named_by(media.on_media(word_), media);
  const auto offset = reinterpret_cast<std::uintptr_t>(word_) % memory::line_size;
  for (const pending_store& each : media.pending(media.line_of(word_))) {
    if (each.offset == offset && wrong.empty()) wrong = check_named_by(each.value[0], media);
  }
  return wrong;
}

std::string replicas_at_risk::check_named_by(std::uint64_t word, const memory& media) const {
  const std::uint64_t named = word & naming_bits_;
  if (named >= replicas_.size()) return "the durable word names replica " + std::to_string(named);
  for (const std::uint32_t line : media.dirty_lines()) {
    const std::byte* const at = media.address_of(line);
    if (at < replicas_[named].begin || at >= replicas_[named].end) continue;
    return "the durable word may name replica " + std::to_string(named) + ", of which byte " +
           std::to_string(at - replicas_[named].begin) + " is not durable";
  }
  return {};
}

}  // namespace outlast::verify
