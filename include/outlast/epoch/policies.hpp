// The policies of buffered structures: epochs, or no durability for comparison.
#pragma once

#include <outlast/domain/concept.hpp>
#include <outlast/domain/native.hpp>
#include <outlast/epoch/clock.hpp>
#include <outlast/epoch/operation.hpp>
#include <outlast/epoch/payload.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace outlast::epoch {

/// Durable two epochs later. [Wen21]
template <domain::persistence_domain D = domain::native>
struct buffered {
  using domain_type = D;
  using operation = epoch::operation<D>;
  using pending_operation = epoch::pending_operation<D>;
  template <payload_content T>
  using prepared = epoch::prepared<T, D>;
  static constexpr bool durable = true;
  static std::string name() { return "montage"; }
};

namespace detail {

/// The counterpart of epoch::prepared for payloads that do not survive.
template <payload_content T, domain::persistence_domain D>
class unlabelled {
 public:
  template <class... Parts>
  unlabelled(payload_memory<D> memory, const T& content, const Parts&... parts) : memory_(memory) {
    const std::size_t bytes = payload<T>::size_with((parts.size() + ... + 0));
    made_ = static_cast<payload<T>*>(memory.blocks.allocate(bytes, 16));
    std::byte* to = made_->bytes();
    append(to, std::as_bytes(std::span(&content, 1)));
    (append(to, parts), ...);
  }
  unlabelled(unlabelled&& other) noexcept
      : memory_(other.memory_), made_(std::exchange(other.made_, nullptr)) {}
  unlabelled& operator=(unlabelled&&) = delete;
  ~unlabelled() {
    if (made_ != nullptr) memory_.blocks.deallocate(made_);
  }
  [[nodiscard]] payload<T>* get() const noexcept { return made_; }
  [[nodiscard]] payload<T>* release() noexcept { return std::exchange(made_, nullptr); }

 private:
  static void append(std::byte*& to, std::span<const std::byte> part) {
    if (!part.empty()) D::write(to, part.data(), part.size());
    to += part.size();
  }

  payload_memory<D> memory_;
  payload<T>* made_ = nullptr;
};

/// The counterpart of epoch::operation without epochs: changes are in place, blocks are free
/// immediately.
template <domain::persistence_domain D>
class [[nodiscard]] bare_operation {
 public:
  /// Does nothing: no operation is announced.
  struct pending_operation {
    payload_memory<D> memory;
  };

  explicit bare_operation(payload_memory<D> memory) : memory_(memory) {}
  explicit bare_operation(pending_operation& coming) : memory_(coming.memory) {}
  ~bare_operation() {}  // a guard: its variable is not unused
  bare_operation(const bare_operation&) = delete;
  bare_operation& operator=(const bare_operation&) = delete;

  [[nodiscard]] std::uint64_t epoch() const noexcept { return 0; }
  [[nodiscard]] bool is_current() const noexcept { return true; }
  void check_epoch() const noexcept {}

  template <payload_content T>
  payload<T>* adopt(unlabelled<T, D>&& made) {
    return made.release();
  }
  template <payload_content T, class... Parts>
  payload<T>* pnew(const T& content, const Parts&... parts) {
    return adopt(unlabelled<T, D>(memory_, content, parts...));
  }
  template <payload_content T>
  void pdelete(payload<T>* gone) {
    memory_.blocks.deallocate(gone);
  }
  template <payload_content T>
  void pdelete_unseen(payload<T>* gone) {
    pdelete(gone);
  }
  template <payload_content T>
  [[nodiscard]] const T& get(const payload<T>* from) const noexcept {
    return from->unsafe();
  }
  template <payload_content T, class Field>
  [[nodiscard]] const Field& get(const payload<T>* from, Field T::* field) const noexcept {
    return from->unsafe().*field;
  }
  template <payload_content T, class Field>
  [[nodiscard]] payload<T>* set(payload<T>* at, Field T::* field, const Field& value,
                                std::size_t = 0) {
    D::write(const_cast<Field*>(&(at->unsafe().*field)), &value, sizeof value);
    return at;
  }

 private:
  payload_memory<D> memory_;
};

}  // namespace detail

/// The null policy: the same structures in the same pool, of which nothing survives. For
/// comparison, in structures whose readers hold locks. [Wen21, 6: Montage (T)]
template <domain::persistence_domain D = domain::native>
struct transient {
  using domain_type = D;
  using operation = detail::bare_operation<D>;
  using pending_operation = typename operation::pending_operation;
  template <payload_content T>
  using prepared = detail::unlabelled<T, D>;
  static constexpr bool durable = false;
  static std::string name() { return "transient"; }
};

}  // namespace outlast::epoch
