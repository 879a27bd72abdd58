// The operations of a structure on its payloads, inside one epoch.
#pragma once

#include <outlast/alloc/arena.hpp>
#include <outlast/base/cache_line.hpp>
#include <outlast/base/thread_context.hpp>
#include <outlast/domain/persist.hpp>
#include <outlast/epoch/clock.hpp>
#include <outlast/epoch/payload.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <utility>

namespace outlast::epoch {

/// An operation has met a payload of a later epoch than its own: it has to undo what it did and
/// begin again. [Wen21, 3.2]
class old_see_new : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override {
    return "an operation has met a payload of a later epoch; begin it again";
  }
};

/// The epoch has changed under an operation that must take effect in its own.
class epoch_changed : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override {
    return "the epoch has changed since the operation began; begin it again";
  }
};

/// The payloads of one structure: its blocks in the pool, and the pool's clock.
/// Thread-safety: as its members.
template <domain::persistence_domain D>
struct payload_memory {
  alloc::arena<D>& blocks;
  epoch::clock<D>& clock;
};

/// A payload that was written before the operation that it is for began: outside of locks, say.
/// The payload is freed again if no operation adopts it.
template <payload_content T, domain::persistence_domain D>
class prepared {
 public:
  /// Writes `content`, and after it `parts`, in order. Throws out_of_space without effect.
  template <class... Parts>
  prepared(payload_memory<D> memory, const T& content, const Parts&... parts)
      : memory_(memory), bytes_(payload<T>::size_with((parts.size() + ... + 0))) {
    made_ = static_cast<payload<T>*>(memory.blocks.allocate(bytes_, payload_align));
    made_->header().template blank<D>();
    std::byte* to = made_->bytes();
    append(to, std::as_bytes(std::span(&content, 1)));
    (append(to, parts), ...);
  }
  prepared(prepared&& other) noexcept
      : memory_(other.memory_),
        bytes_(other.bytes_),
        streamed_(other.streamed_),
        made_(std::exchange(other.made_, nullptr)) {}
  prepared& operator=(prepared&&) = delete;
  ~prepared() {
    if (made_ != nullptr) memory_.blocks.deallocate(made_);
  }

  [[nodiscard]] payload<T>* get() const noexcept { return made_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// Gives the payload to the caller. Bytes that were streamed past the caches are not waited for.
  [[nodiscard]] payload<T>* release() noexcept { return std::exchange(made_, nullptr); }

 private:
  template <domain::persistence_domain>
  friend class operation;

  static constexpr std::size_t payload_align = 16;
  static constexpr std::size_t first_bytes = 32;

  void append(std::byte*& to, std::span<const std::byte> part) {
    write(to, part);
    to += part.size();
  }

  /// Writes bytes. Whole lines may be streamed past the caches, but not those that are written
  /// again: of the header, and of the content that identifies the payload. On a device only noted
  /// pages are written, so no bytes are streamed there.
  void write(std::byte* to, std::span<const std::byte> part) {
    const bool streams = D::flushes() && !domain::notes_pages<D> && streamed_.first == nullptr &&
                         part.size() >= memory_.clock.stream_from_bytes();
    auto* const least = reinterpret_cast<std::byte*>(made_) + first_bytes;
    const std::uintptr_t from = base::round_up(
        reinterpret_cast<std::uintptr_t>(std::max(to, least)), base::cache_line_size);
    const std::size_t front = from - reinterpret_cast<std::uintptr_t>(to);
    if (!streams || front >= part.size()) return write_into_caches(to, part);
    const std::size_t whole = (part.size() - front) / base::cache_line_size * base::cache_line_size;
    write_into_caches(to, part.first(front));
    D::stream(to + front, part.data() + front, whole);
    write_into_caches(to + front + whole, part.subspan(front + whole));
    base::this_thread().flush_pending = true;  // somebody has to fence before it is published
    streamed_ = {to + front, to + front + whole};
  }
  static void write_into_caches(std::byte* to, std::span<const std::byte> part) {
    if (!part.empty()) D::write(to, part.data(), part.size());
  }

  payload_memory<D> memory_;
  std::size_t bytes_;
  std::pair<std::byte*, std::byte*> streamed_ = {nullptr, nullptr};
  payload<T>* made_ = nullptr;
};

template <domain::persistence_domain D>
class operation;

/// An operation that takes a lock: announced before the lock is taken, and begun under it.
///
///   pending_operation<D> coming(memory);
///   const std::lock_guard lock(of_the_bucket);
///   operation<D> op(coming);
///
/// Ticks wait for it as for an operation. A lock must be taken by an exchange. [Wen21, 3.1]
template <domain::persistence_domain D>
class [[nodiscard]] pending_operation {
 public:
  /// Announces. Throws as clock::begin().
  explicit pending_operation(payload_memory<D> memory)
      : memory_(memory), mine_(&memory.clock.begin()) {}
  ~pending_operation() {
    if (mine_ != nullptr) memory_.clock.cancel(*mine_);
  }
  pending_operation(const pending_operation&) = delete;
  pending_operation& operator=(const pending_operation&) = delete;

 private:
  friend class operation<D>;

  payload_memory<D> memory_;
  typename clock<D>::record* mine_;  // null: the operation has begun
};

/// One operation of one thread; all its changes belong to the epoch in which it began. [Wen21, 3.1:
/// BEGIN_OP_AUTOEND]
///
/// Requires, as the paper's section 4: between its last change and the moment at which it takes
/// effect, no conflicting operation takes effect. (Hold the lock from before the operation begins
/// until after it has ended.) The caller must replace each pointer to a payload that set() has
/// replaced.
template <domain::persistence_domain D>
class [[nodiscard]] operation {
 public:
  /// Begins an operation. Throws as clock::enter().
  explicit operation(payload_memory<D> memory)
      : memory_(memory), mine_(memory.clock.enter()), epoch_(mine_.epoch()) {}
  /// Begins the announced operation `coming`: once, after a lock was taken. Throws as
  /// clock::enter().
  explicit operation(pending_operation<D>& coming)
      : memory_(coming.memory_),
        mine_(memory_.clock.begin(*std::exchange(coming.mine_, nullptr))),
        epoch_(mine_.epoch()) {}
  /// Ends the operation. It is durable when the clock has moved by two epochs.
  ~operation() { memory_.clock.leave(mine_); }
  operation(const operation&) = delete;
  operation& operator=(const operation&) = delete;

  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }

  /// Returns true if the operation's epoch is the present one. Not needed under locks.
  [[nodiscard]] bool is_current() const { return memory_.clock.now() == epoch_; }
  /// Throws epoch_changed if the operation's epoch is not the present one. [Wen21: CHECK_EPOCH]
  void check_epoch() const {
    if (!is_current()) throw epoch_changed();
  }

  /// Makes the payload a part of the structure's state.
  template <payload_content T>
  payload<T>* adopt(prepared<T, D>&& made) {
    // (P1) persisted-before: what went past the caches is not published before a fence. [L6]
    domain::fence<D>();
    payload<T>* const at = made.release();
    at->header().template set_label<D>(epoch_);
    note_around(at, made.bytes_, made.streamed_);
    return at;
  }

  /// Makes a payload and adopts it. Throws out_of_space without effect. [Wen21: PNEW]
  template <payload_content T, class... Parts>
  payload<T>* pnew(const T& content, const Parts&... parts) {
    return adopt(prepared<T, D>(memory_, content, parts...));
  }

  /// Removes the payload from the structure's state. Requires: the caller has removed every pointer
  /// by which other threads reach it. Throws old_see_new. [Wen21: PDELETE]
  template <payload_content T>
  void pdelete(payload<T>* gone) {
    check_seen(gone);
    // Even a payload of this epoch is not freed immediately: blocks are not freed before they are
    // dead on the media.
    gone->header().template set_retired<D>(epoch_);
    memory_.clock.written(mine_, gone, sizeof(payload_header));
    memory_.clock.given_up(mine_, memory_.blocks, gone);
  }

  /// Removes a payload that no other thread can be reading, because the caller's lock excludes
  /// readers. The block of a payload of this epoch is free immediately.
  template <payload_content T>
  void pdelete_unseen(payload<T>* gone) {
    if (gone->header().template label<D>() != epoch_) return pdelete(gone);
    gone->header().template set_retired<D>(epoch_);
    memory_.clock.written(mine_, gone, sizeof(payload_header));
    memory_.blocks.deallocate(gone);
  }

  /// Returns the content of the payload. Throws old_see_new if that is of a later epoch.
  template <payload_content T>
  [[nodiscard]] const T& get(const payload<T>* from) const {
    check_seen(from);
    return from->unsafe();
  }
  template <payload_content T, class Field>
  [[nodiscard]] const Field& get(const payload<T>* from, Field T::* field) const {
    return get(from).*field;
  }
  /// Returns a field whatever the epoch of the payload is, for callers that may see later content.
  template <payload_content T, class Field>
  [[nodiscard]] static const Field& get_unsafe(const payload<T>* from, Field T::* field) noexcept {
    return from->unsafe().*field;
  }

  /// Changes a field: in place if the payload is of this epoch, otherwise in a copy. Returns the
  /// address of the content; the caller must replace its pointers. The payload has `tail_bytes`
  /// bytes after its content. Throws old_see_new, out_of_space without effect. [Wen21, 3.1]
  template <payload_content T, class Field>
  [[nodiscard]] payload<T>* set(payload<T>* at, Field T::* field, const Field& value,
                                std::size_t tail_bytes = 0) {
    check_seen(at);
    if (at->header().template label<D>() == epoch_) {
      auto* const place = const_cast<Field*>(&(at->unsafe().*field));
      D::write(place, &value, sizeof value);
      memory_.clock.written(mine_, place, sizeof value);
      return at;
    }
    T changed = at->unsafe();
    changed.*field = value;
    payload<T>* const copy = pnew(changed, std::span(at->tail(), tail_bytes));
    pdelete(at);
    return copy;
  }

 private:
  template <payload_content T>
  void check_seen(const payload<T>* seen) const {
    if (seen->header().template label<D>() > epoch_) throw old_see_new();
  }

  /// Passes the bytes of a payload to the clock, except those that were streamed.
  void note_around(const void* at, std::size_t bytes,
                   const std::pair<std::byte*, std::byte*>& streamed) {
    const auto* const first = static_cast<const std::byte*>(at);
    if (streamed.first == streamed.second) return memory_.clock.written(mine_, first, bytes);
    memory_.clock.written(mine_, first, static_cast<std::size_t>(streamed.first - first));
    const std::byte* const end = first + bytes;
    if (streamed.second != end) {
      memory_.clock.written(mine_, streamed.second,
                            static_cast<std::size_t>(end - streamed.second));
    }
  }

  payload_memory<D> memory_;
  typename clock<D>::record& mine_;
  std::uint64_t epoch_;
};

}  // namespace outlast::epoch
