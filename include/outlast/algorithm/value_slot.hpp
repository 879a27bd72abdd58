// The value of a node: none, updated in place, or replaced with its node.
#pragma once

#include <outlast/durable/roles.hpp>
#include <outlast/root/storable.hpp>

#include <type_traits>

namespace outlast::algorithm {

using roots::no_value;

/// The ways in which a structure changes a value. A change in place is sound because erase does not
/// return the value: an update of a node that is deleted meanwhile takes effect just before the
/// deletion.
enum class value_kind { none, in_place, with_node };

template <class Value, class Policy>
inline constexpr value_kind kind_of_value = std::is_same_v<Value, no_value> ? value_kind::none
                                            : Policy::template holds<Value> ? value_kind::in_place
                                                                            : value_kind::with_node;

template <class Value, class Policy, value_kind Kind = kind_of_value<Value, Policy>>
struct value_slot;

template <class Value, class Policy>
struct value_slot<Value, Policy, value_kind::none> {
  explicit value_slot(const Value&) {}
  [[nodiscard]] Value load() const { return {}; }
  void recover() {}
};

template <class Value, class Policy>
struct value_slot<Value, Policy, value_kind::in_place> {
  explicit value_slot(const Value& value) : cell(value) {}
  [[nodiscard]] Value load() const { return cell.load(durable::role::decide); }
  void recover() { cell.recover(); }

  typename Policy::template cell<Value> cell;
};

template <class Value, class Policy>
struct value_slot<Value, Policy, value_kind::with_node> {
  explicit value_slot(const Value& value) : field(value) {}
  [[nodiscard]] Value load() const { return field.get(); }
  void recover() {}

  typename Policy::template field<Value> field;
};

}  // namespace outlast::algorithm
