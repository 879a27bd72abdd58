// Maps under a soak.
#pragma once

#include <tests/soak/subject.hpp>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace outlast::test::soak {

/// Which places of a role have a key, and the version of its value.
using model = std::unordered_map<u64, u64>;

template <class Map>
class map_subject : public subject {
 public:
  using key_type = typename Map::key_type;
  using mapped_type = typename Map::mapped_type;

  map_subject(std::string name, std::unique_ptr<Map> in, scale how)
      : name_(std::move(name)), in_(std::move(in)), how_(how) {}

  void grow(turn& of) override {
    const u64 count = of.amount(how_.operations);
    for (u64 i = 0; i < count; ++i) step(of);
    if (how_.has_replicas && of.wave == 0) crowd(of);
    if (how_.large && of.is_for_large(how_.number)) {
      put(of, how_.operations + of.wave % 2, large_version(++versions_.at(of.role), of.wave));
    }
  }

  void look(turn& of) override {
    for (const auto& [place, version] : models_.at(of.role)) require(of.role, place, version);
  }

  /// Erases all but some of the oldest places.
  void shrink(turn& of) override {
    model& mine = models_.at(of.role);
    for (auto at = mine.begin(); at != mine.end();) {
      if (at->first < how_.operations / 16) {
        ++at;
        continue;
      }
      if (!in_->erase(key_of<key_type>(of.role, at->first))) fail(of.role, at->first, "is gone");
      at = mine.erase(at);
    }
  }

  void check() override {
    std::size_t expected = 0;
    for (const model& each : models_) expected += each.size();
    std::size_t found = 0;
    in_->for_each([&](const auto&, const auto&) { ++found; });
    if (found == expected && size() == expected) return;
    throw lost_content(name_, "it shows " + std::to_string(found) + " keys and counts " +
                                  std::to_string(size()) + "; " + std::to_string(expected) +
                                  " were stored");
  }

  void let_go() override { in_.reset(); }

 protected:
  [[nodiscard]] Map& in() noexcept { return *in_; }
  [[nodiscard]] const model& model_of(unsigned role) const { return models_.at(role); }

  [[noreturn]] void fail(unsigned role, u64 place, const std::string& what) const {
    throw lost_content(
        name_, "key " + std::to_string(place) + " of role " + std::to_string(role) + " " + what);
  }

 private:
  void step(turn& of) {
    const u64 place = of.random() % how_.operations;
    switch (of.random() % 8) {
      case 0: return erase(of, place);
      case 1: return insert(of, place);
      case 2: return get(of, place);
      default: return put(of, place, ++versions_.at(of.role));
    }
  }

  /// All roles write large values, so that as many replicas as there are come into use: one that
  /// was first needed in the last quarter would look like a leak.
  void crowd(turn& of) {
    const u64 place = how_.operations + 2;
    for (int i = 0; i < 4; ++i) put(of, place, large_version(++versions_.at(of.role), 0));
    erase(of, place);
  }
  void put(turn& of, u64 place, u64 version) {
    const key_type at = key_of<key_type>(of.role, place);
    static_cast<void>(in_->put(at, value_of<mapped_type>(place, version)));
    models_.at(of.role)[place] = version;
  }
  void insert(turn& of, u64 place) {
    const u64 version = ++versions_.at(of.role);
    const bool added =
        in_->insert(key_of<key_type>(of.role, place), value_of<mapped_type>(place, version));
    if (added != models_.at(of.role).try_emplace(place, version).second) {
      fail(of.role, place, added ? "is gone" : "was there before it was inserted");
    }
  }
  void erase(turn& of, u64 place) {
    const bool erased = in_->erase(key_of<key_type>(of.role, place));
    if (erased != (models_.at(of.role).erase(place) == 1)) {
      fail(of.role, place, erased ? "was there although it was erased" : "is gone");
    }
  }
  void get(turn& of, u64 place) {
    const auto found = models_.at(of.role).find(place);
    if (found != models_.at(of.role).end()) return require(of.role, place, found->second);
    if (in_->get(key_of<key_type>(of.role, place))) {
      fail(of.role, place, "is there although it was erased");
    }
  }
  void require(unsigned role, u64 place, u64 version) {
    const std::optional<mapped_type> found = in_->get(key_of<key_type>(role, place));
    if (!found) fail(role, place, "is gone");
    if (*found != value_of<mapped_type>(place, version)) fail(role, place, "has another value");
  }
  [[nodiscard]] std::size_t size() {
    if constexpr (requires { in_->size_estimate(); }) {
      return in_->size_estimate();
    } else {
      return in_->size();
    }
  }

  std::string name_;
  std::unique_ptr<Map> in_;
  scale how_;
  std::array<model, roles> models_;
  std::array<u64, roles> versions_{};
};

template <class Map, class Pool, class... Options>
void add_map(subjects& to, Pool& pool, const std::string& name, scale how,
             const Options&... options) {
  how.number = static_cast<unsigned>(to.size());
  to.push_back(
      std::make_unique<map_subject<Map>>(name, std::make_unique<Map>(pool, name, options...), how));
}

}  // namespace outlast::test::soak
