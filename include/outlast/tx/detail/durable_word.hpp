// The interface of the word that names the current replica, whose implementations are the media's
// differences: published_word and logged_word.
#pragma once

#include <outlast/tx/detail/replica_word.hpp>

#include <concepts>
#include <cstdint>

namespace outlast::tx::detail {

/// A word that commits move from one replica to the next. It decides which commits survive a crash.
///
///   published_word   replicas are on media. Each commit makes the word durable.
///   logged_word      replicas are in memory. A commit goes to a write-ahead log.
///
/// `State` is a commit: see redo_state.
template <class Word, class State>
concept durable_word = requires(Word& word, const Word& known, replica_word& seen, State& next,
                                const State& base, bool (&is_writing)(std::uint64_t)) {
  /// The word from which the next commit starts.
  { known.now() } -> std::same_as<replica_word>;
  /// The word that a reader may follow, if it is unchanged once the reader has announced itself,
  /// and after await_readable().
  { known.readable() } -> std::same_as<replica_word>;
  { word.await_readable(seen) };
  /// Moves the word from `seen`. If it is something else, returns false and stores that in `seen`.
  { word.move(seen, seen) } -> std::same_as<bool>;
  /// Returns true if replica `i`, which the word `now` does not name, may be overwritten: no crash
  /// and no reader goes back to it.
  { word.may_overwrite(0U, seen) } -> std::same_as<bool>;
  /// Chooses where `next`, which follows `base`, is recorded.
  { word.place(next, base) };
  /// Returns true if `next`, once placed, can be made durable.
  { known.has_room_for(next) } -> std::same_as<bool>;
  /// Makes a commit survive what its callers were promised. Before they get their answers.
  { word.before_answers(base, is_writing, is_writing) };
  /// A crash of the machine now would keep the commits up to this one, or more.
  { known.kept_number() } -> std::same_as<std::uint64_t>;
};

}  // namespace outlast::tx::detail
