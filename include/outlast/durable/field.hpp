// Members of persistent nodes that are no cells.
#pragma once

#include <outlast/base/survives.hpp>
#include <outlast/domain/concept.hpp>
#include <outlast/domain/watched_blocks.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>

namespace outlast::durable {

/// A member that is immutable once published. The constructor writes it through the domain, and it
/// is flushed with its node before the node is linked. Any trivially copyable T. Thread-safety: as
/// a const object.
template <class T, domain::persistence_domain D>
class field {
  static_assert(base::must_survive_or_link<T>);
  static_assert(std::is_trivially_copyable_v<T>,
                "what lives in a pool must be trivially copyable: no pointers into the heap, no "
                "standard containers");
  using caller_line = domain::line_under<D>;

 public:
  explicit field(const T& value, domain::site where = domain::site::current()) {
    D::write(bytes_, std::addressof(value), sizeof(T), where);
  }
  field(const field&) = delete;
  field& operator=(const field&) = delete;

  [[nodiscard]] const T& get(caller_line where = caller_line::here()) const noexcept {
    if constexpr (domain::watches_blocks<D>) D::reads_block(bytes_, sizeof(T), where);
    return *std::launder(reinterpret_cast<const T*>(bytes_));
  }
  operator const T&() const noexcept { return get(); }

 private:
  alignas(T) std::byte bytes_[sizeof(T)];
};

/// A volatile member of a node. It is rebuilt at each open, never trusted after a crash, and so
/// never flushed. Access is plain; the structure defines which thread may access it when.
template <class T>
struct volatile_member {
  T value{};
};

}  // namespace outlast::durable
