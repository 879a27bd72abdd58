// Goal: words that change only in the epoch of their operation suffice for a non-blocking buffered
// structure, and words that ignore the clock do not.
// Method: the stack of Treiber over numbered payloads, explored with each kind of word.
#include <outlast/epoch/buffered_stack.hpp>
#include <outlast/epoch/verified_word.hpp>
#include <outlast/verify/explorer/buffered_subject.hpp>
#include <outlast/verify/explorer/explorer.hpp>
#include <outlast/verify/machine/simulated.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace outlast::test {
namespace {

using D = domain::simulated;
using epoch::verdict;
using numbered = epoch::detail::stored_pair<std::uint64_t, std::uint64_t>;
using payload_type = numbered::payload_type;

struct node {
  payload_type* payload;
  node* next;
  std::uint64_t number;
};

/// Three kinds of word, used in the same way.
class with_counter {
 public:
  explicit with_counter(epoch::clock<D>&, node* first) : word_(first) {}
  auto read() const { return word_.load(); }
  static node* value_of(const auto& seen) { return seen.value(); }
  node* verified() { return word_.load_verify(); }
  verdict move(const auto& from, node* to, const epoch::operation<D>& op) {
    return word_.cas_verify(from, to, op);
  }

 private:
  epoch::counted_word<node*, D> word_;
};

class with_helpers {
 public:
  with_helpers(epoch::clock<D>& clock, node* first) : word_(clock, first) {}
  node* read() { return word_.load_verify(); }
  static node* value_of(node* seen) { return seen; }
  node* verified() { return word_.load_verify(); }
  verdict move(node* from, node* to, const epoch::operation<D>& op) {
    return word_.cas_verify(from, to, op);
  }

 private:
  epoch::verified_pointer<node, D> word_;
};

/// Does not look at the clock.
class careless {
 public:
  careless(epoch::clock<D>&, node* first) : word_(first) {}
  node* read() { return word_.load(std::memory_order_acquire); }
  static node* value_of(node* seen) { return seen; }
  node* verified() { return read(); }
  verdict move(node* from, node* to, const epoch::operation<D>&) {
    return word_.compare_exchange(from, to, std::memory_order_seq_cst) ? verdict::done
                                                                       : verdict::changed;
  }

 private:
  domain::volatile_word<D, node*> word_;
};

template <class Word>
class treiber_stack {
  class session final : public epoch::payload_session<D> {
   public:
    session(basic_pool<D>& in, const attached_root& root, epoch::clock<D>& clock)
        : payload_session<D>(in, root, clock) {
      std::uint64_t first = 0;
      node* last = nullptr;
      for (payload_type* each : epoch::detail::in_order<numbered>(
               this->recovered(), first, [this](auto* at) { return this->room_of(at); },
               [this](const char* what) { this->report_damage(what); })) {
        last = make(each, last);
      }
      top.emplace(clock, last);
    }

    /// Nodes stay: no block is reused while a thread reads it.
    node* make(payload_type* payload, node* below) {
      nodes_.push_back(
          std::make_unique<node>(payload, below, below == nullptr ? 0 : below->number + 1));
      return nodes_.back().get();
    }

    std::optional<Word> top;

   private:
    std::vector<std::unique_ptr<node>> nodes_;
  };

 public:
  using value_type = std::uint64_t;
  using policy_type = epoch::buffered<D>;
  using pool_type = basic_pool<D>;

  treiber_stack(pool_type& pool, std::string_view name)
      : clock_(epoch::clock_of(pool)),
        session_(pool.service<roots::root_sessions<D>>().attach<session>(
            name, {"treiber_stack", 1}, [&](auto& in, const auto& root) {
              return std::make_shared<session>(in, root, clock_);
            })) {}
  ~treiber_stack() { session_->release(); }
  treiber_stack(const treiber_stack&) = delete;
  treiber_stack& operator=(const treiber_stack&) = delete;

  void push(std::uint64_t value) {
    for (;;) {
      epoch::operation<D> op(session_->memory());
      const auto seen = session_->top->read();
      node* const fresh = session_->make(nullptr, Word::value_of(seen));
      fresh->payload = op.pnew(numbered::content{fresh->number, value});
      if (session_->top->move(seen, fresh, op) == verdict::done) return;
      op.pdelete(fresh->payload);
    }
  }
  std::optional<std::uint64_t> pop() {
    for (;;) {
      epoch::operation<D> op(session_->memory());
      const auto seen = session_->top->read();
      node* const first = Word::value_of(seen);
      if (first == nullptr) {
        if (session_->top->verified() == nullptr) return std::nullopt;
        continue;
      }
      if (session_->top->move(seen, first->next, op) != verdict::done) continue;
      const std::uint64_t value = numbered::value_of(*first->payload);
      op.pdelete(first->payload);
      return value;
    }
  }
  [[nodiscard]] bool empty() { return session_->top->verified() == nullptr; }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (node* at = session_->top->verified(); at != nullptr; at = at->next) {
      visit(numbered::value_of(*at->payload));
    }
  }
  [[nodiscard]] auto& arena() noexcept { return session_->arena(); }
  [[nodiscard]] epoch::clock<D>& pool_clock() noexcept { return clock_; }

 private:
  epoch::clock<D>& clock_;
  std::shared_ptr<session> session_;
};

template <class Word>
verify::report explore(const verify::memory_model& model, double seconds) {
  using stack = treiber_stack<Word>;
  verify::structure_parts<stack> how;
  how.make = [](auto& pool) {
    auto made = std::make_unique<stack>(pool, "subject");
    made->pool_clock().configure({.epoch_length = {}, .buffer = 2});
    return made;
  };
  how.blocks = [](stack&) { return std::size_t{1}; };
  verify::buffered_sequence_subject<stack> tested("stack",
                                                  verify::sequence_oracle::discipline::stack, how);
  verify::options options;
  options.seconds = seconds;
  options.model = model;
  // With one, a pool is often found without pages of the stack: this has found an allocation that
  // called a pool full while another thread was reading what a clean close had left.
  constexpr bool is_sound = !std::is_same_v<Word, careless>;
  options.within = {.threads = 2, .operations = 3, .keys = 1, .prefill = is_sound ? 1U : 2U};
  options.minimise = is_sound;
  return verify::explorer(tested, options).run();
}

template <class Word>
void expect_sound() {
  for (const verify::memory_model& model :
       {verify::memory_model{}, verify::memory_model{.rmw_fences = true, .store_buffers = true}}) {
    const verify::report done = explore<Word>(model, 1);
    EXPECT_FALSE(done.found) << to_text(*done.found);
    EXPECT_GT(done.images_checked, 10U);
  }
}

TEST(VerifiedWords, with_a_counter_keep_a_stack_sound) { expect_sound<with_counter>(); }
TEST(VerifiedWords, with_helpers_keep_a_stack_sound) { expect_sound<with_helpers>(); }
TEST(VerifiedWords, are_needed) {
  const verify::report done = explore<careless>({}, 60);
  EXPECT_TRUE(done.found) << to_text(done);
}

}  // namespace
}  // namespace outlast::test
