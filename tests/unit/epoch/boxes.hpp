// A structure that is nothing but its payloads.
#pragma once

#include <outlast/epoch/clock.hpp>
#include <outlast/epoch/operation.hpp>
#include <outlast/epoch/payload_session.hpp>
#include <outlast/root/attached.hpp>

#include <tests/support/reasons.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace outlast::epoch {

using test::reason_of;

struct box {
  std::uint64_t first;
  std::uint64_t second;
};

/// A root whose state is its payloads: boxes, found again in no order.
template <domain::persistence_domain D>
class boxes {
  class session final : public payload_session<D> {
   public:
    session(basic_pool<D>& in, const attached_root& root, epoch::clock<D>& clock)
        : payload_session<D>(in, root, clock) {
      for (const auto& part : this->recovered()) {
        for (payload_header* each : part) found.push_back(reinterpret_cast<payload<box>*>(each));
      }
    }
    std::vector<payload<box>*> found;
  };

 public:
  explicit boxes(basic_pool<D>& pool, const std::string& name = "boxes")
      : boxes(pool, name, clock_of(pool)) {}

  [[nodiscard]] payload_memory<D> memory() { return session_->memory(); }
  [[nodiscard]] alloc::arena<D>& arena() { return session_->arena(); }
  [[nodiscard]] std::multiset<std::uint64_t> found() const {
    std::multiset<std::uint64_t> firsts;
    for (const auto* each : session_->found) firsts.insert(each->unsafe().first);
    return firsts;
  }
  [[nodiscard]] payload<box>* found_with(std::uint64_t first) const {
    for (auto* each : session_->found) {
      if (each->unsafe().first == first) return each;
    }
    return nullptr;
  }

  payload<box>* add(std::uint64_t first) {
    operation<D> op(memory());
    return op.pnew(box{first, 0});
  }
  void remove(payload<box>* gone) {
    operation<D> op(memory());
    op.pdelete(gone);
  }

 private:
  boxes(basic_pool<D>& pool, const std::string& name, clock<D>& time)
      : session_(pool, name, {"boxes", 1, true, false}, time) {}

  roots::attached<session> session_;
};

}  // namespace outlast::epoch
