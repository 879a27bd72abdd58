// A tree with snapshots, with the names of snapshot_subject.
#pragma once

#include <tests/soak/content.hpp>

#include <outlast/containers/bplus_tree.hpp>
#include <outlast/containers/managed_tree.hpp>
#include <outlast/tx/redo_opt.hpp>

#include <string>
#include <utility>

namespace outlast::test::soak {

template <class D>
class tree_map : public containers::managed_tree<tx::redo_opt<D>,
                                                 containers::bplus_tree<std::string, std::string>> {
  using base =
      containers::managed_tree<tx::redo_opt<D>, containers::bplus_tree<std::string, std::string>>;

 public:
  using base::base;

  class view {
   public:
    explicit view(typename base::snapshot of) : at_(std::move(of)) {}

    template <class Visit>
    void walk(unsigned role, Visit&& visit) {
      const std::string first = prefix_of(role);
      for (at_.seek(first); at_.is_valid() && at_.key().starts_with(first); at_.next()) {
        visit(at_.key(), at_.value());
      }
    }

   private:
    typename base::iterator at_;
  };
  [[nodiscard]] view hold() { return view(this->take_snapshot()); }
};

}  // namespace outlast::test::soak
