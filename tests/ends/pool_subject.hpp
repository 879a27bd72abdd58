// A pool and what lies in it.
#pragma once

#include <tests/ends/subject.hpp>

#include <outlast/base/error.hpp>
#include <outlast/domain.hpp>
#include <outlast/pool/pool.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlast::test::ends {

/// In the child of a fork an error says so, of whatever call.
template <class Call>
bool is_refused(Call&& call) {
  try {
    static_cast<void>(call());
  } catch (const error& refused) {
    return refused.reason() == errc::forked;
  }
  return false;
}

/// A call that cannot fail: it returns data outside of the pool's memory.
template <class Call>
bool returns(Call&& call) {
  static_cast<void>(call());
  return true;
}

/// `Structure` has put() and get(), is made of a pool and a name, and says how it is kept and which
/// calls it has: `family<Structure>`.
template <class Family>
class pool_subject final : public subject {
  using D = typename Family::domain_type;

 public:
  explicit pool_subject(std::optional<domain::kind> forced) : forced_(forced) {}

  void open(const std::string& path, bool make, std::uintptr_t address) override {
    pool_options wanted;
    wanted.size_bytes = std::size_t{4} << 20;
    wanted.capacity_bytes = std::size_t{8} << 20;
    wanted.log_bytes = std::size_t{1} << 20;
    wanted.per_operation_device_sync = true;
    wanted.force_domain = forced_;
    wanted.base_address = address;
    if (make) {
      pool_.reset(new basic_pool<D>(basic_pool<D>::create(path, wanted)));
    } else {
      pool_.reset(new basic_pool<D>(basic_pool<D>::open(path, wanted)));
    }
    in_ = std::make_unique<Family>(*pool_);
  }
  void put(u64 key, u64 value) override { in_->put(key, value); }
  void keep() override { in_->keep(); }
  std::optional<u64> get(u64 key) override { return in_->get(key); }
  void close() override {
    in_.reset();
    pool_->close();
    pool_.reset();
  }
  [[nodiscard]] bool was_dirty() const override { return pool_->was_dirty(); }
  [[nodiscard]] std::uintptr_t address() const override { return pool_->base(); }

  std::vector<public_call> calls() override {
    std::vector<public_call> all = in_->calls();
    const auto add = [&](const char* name, auto call) {
      all.push_back({std::string("pool.") + name, [=] { return is_refused(call); }});
    };
    basic_pool<D>* const of = pool_.get();
    add("roots", [of] { return of->roots(); });
    add("attach_root", [of] { return of->attach_root("other", "other", 1, true).index; });
    add("detach_root", [of] { return of->detach_root(0, false), 0; });
    add("publish_root", [of] { return of->publish_root(0, nullptr), 0; });
    add("drop_root", [of] { return of->drop_root("other"), 0; });
    add("grow", [of] { return of->grow(std::size_t{8} << 20), 0; });
    add("guarantee", [of] { return of->guarantee(); });
    add("check", [of] { return of->check(); });
    add("regions", [of] { return of->regions(); });
    add("find_region", [of] { return of->find_region("other"); });
    add("reserve_region", [of] {
      return of->reserve_region("other", region_kind::shadow_copy, std::size_t{1} << 12);
    });
    add("on_close", [of] { return of->on_close([] {}), 0; });
    add("close", [of] { return of->close(), 0; });
    return all;
  }

 private:
  std::optional<domain::kind> forced_;
  std::unique_ptr<basic_pool<D>> pool_;
  std::unique_ptr<Family> in_;
};

/// `Family<D>` on the domain of that name.
template <template <class> class Family>
std::unique_ptr<subject> on_domain(std::string_view name) {
  if (name == "process")
    return std::make_unique<pool_subject<Family<domain::process>>>(std::nullopt);
  if (name == "native") return std::make_unique<pool_subject<Family<domain::native>>>(std::nullopt);
  if (name == "adr") {
    return std::make_unique<pool_subject<Family<domain::native>>>(domain::kind::adr);
  }
  if (name == "file") return std::make_unique<pool_subject<Family<domain::file>>>(std::nullopt);
  if (name == "logged_file") {
    return std::make_unique<pool_subject<Family<domain::logged_file>>>(std::nullopt);
  }
  return nullptr;
}

}  // namespace outlast::test::ends
