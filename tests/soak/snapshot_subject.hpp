// Maps that have snapshots and iterators, which are held for some waves.
#pragma once

#include <tests/soak/map_subject.hpp>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::test::soak {

/// `Map` has, besides, hold(), which gives a view of what it holds now, and `view::walk(role,
/// visit)`, which visits the keys of a role in their order.
template <class Map>
class snapshot_subject final : public map_subject<Map> {
  using base = map_subject<Map>;

 public:
  using base::base;

  void look(turn& of) override {
    base::look(of);
    std::vector<held>& mine = held_.at(of.role);
    std::erase_if(mine, [&](held& each) {
      if (each.until > of.wave) return false;
      compare(of.role, each);
      return true;
    });
    const u64 waves = 1 + (of.role + of.wave) % 3;
    mine.push_back({of.wave + waves, this->in().hold(), this->model_of(of.role)});
  }
  void let_go() override {
    for (unsigned role = 0; role < roles; ++role) {
      for (held& each : held_.at(role)) compare(role, each);
      held_.at(role).clear();
    }
    base::let_go();
  }

 private:
  struct held {
    u64 until;  ///< the wave in which it is released
    decltype(std::declval<Map&>().hold()) view;
    model expected;
  };

  void compare(unsigned role, held& with) {
    std::size_t found = 0;
    std::unordered_map<std::string, u64> places;
    for (const auto& [place, version] : with.expected) {
      places.emplace(key_of<std::string>(role, place), place);
    }
    with.view.walk(role, [&](std::string_view key, std::string_view value) {
      ++found;
      const auto at = places.find(std::string(key));
      if (at == places.end()) this->fail(role, 0, "is not all that a snapshot shows");
      if (value != value_of<std::string>(at->second, with.expected.at(at->second))) {
        this->fail(role, at->second, "has another value in a snapshot");
      }
    });
    if (found != with.expected.size()) {
      this->fail(role, 0,
                 "is one of " + std::to_string(with.expected.size()) +
                     " that were there; a snapshot shows " + std::to_string(found));
    }
  }

  std::array<std::vector<held>, roles> held_;
};

}  // namespace outlast::test::soak
