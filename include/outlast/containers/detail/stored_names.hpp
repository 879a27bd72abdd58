// The names of the containers that pools store: those of version 0.1.
#pragma once

#include <outlast/base/stored_name.hpp>

#include <cstddef>

namespace outlast::tx {

class byte_string;

namespace seq {

template <class T>
class array;
template <class Key, class Value, class Less, std::size_t Fanout>
class bplus_tree;
template <class Key, class Value, class Hash>
class hash_map;
template <class Key>
class list_set;
template <class T>
class queue;
template <class Key, class Value>
class red_black_tree;
template <class T>
class stack;

}  // namespace seq
}  // namespace outlast::tx

namespace outlast::containers {

template <class T>
class array;
template <class Key, class Value, class Less, std::size_t Fanout>
class bplus_tree;
class byte_string;
template <class Key, class Value, class Hash>
class hash_map;
template <class Key>
class list_set;
template <class T>
class queue;
template <class Key, class Value>
class red_black_tree;
template <class T>
class stack;

}  // namespace outlast::containers

namespace outlast::base {

template <class T>
struct stored_as<containers::array<T>> {
  using type = tx::seq::array<typename stored_as<T>::type>;
};
template <class Key, class Value, class Less, std::size_t Fanout>
struct stored_as<containers::bplus_tree<Key, Value, Less, Fanout>> {
  using type = tx::seq::bplus_tree<typename stored_as<Key>::type, typename stored_as<Value>::type,
                                   typename stored_as<Less>::type, Fanout>;
};
template <>
struct stored_as<containers::byte_string> {
  using type = tx::byte_string;
};
template <class Key, class Value, class Hash>
struct stored_as<containers::hash_map<Key, Value, Hash>> {
  using type = tx::seq::hash_map<typename stored_as<Key>::type, typename stored_as<Value>::type,
                                 typename stored_as<Hash>::type>;
};
template <class Key>
struct stored_as<containers::list_set<Key>> {
  using type = tx::seq::list_set<typename stored_as<Key>::type>;
};
template <class T>
struct stored_as<containers::queue<T>> {
  using type = tx::seq::queue<typename stored_as<T>::type>;
};
template <class Key, class Value>
struct stored_as<containers::red_black_tree<Key, Value>> {
  using type =
      tx::seq::red_black_tree<typename stored_as<Key>::type, typename stored_as<Value>::type>;
};
template <class T>
struct stored_as<containers::stack<T>> {
  using type = tx::seq::stack<typename stored_as<T>::type>;
};

}  // namespace outlast::base
