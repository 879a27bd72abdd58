// Goal: a root's session outlives the structure's handle, and goes when the root is dropped; a root
// object is judged before it is believed. Method: a structure that is one number.
#include <outlast/domain.hpp>
#include <outlast/root/attached.hpp>
#include <outlast/root/root_session.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>

namespace outlast::durable {
namespace {

using process = domain::process;
using process_pool = basic_pool<process>;
using sessions = roots::root_sessions<process>;

constexpr pool_options small{.size_bytes = 1 << 20};

/// `Object`: what the root is believed to hold.
template <class Object>
class number_session final : public roots::root_session<process> {
 public:
  number_session(process_pool& in, const attached_root& root) : root_session(in, root) {
    if (root.state == root_state::fresh) {
      auto* const made = static_cast<std::uint64_t*>(arena().allocate(sizeof(std::uint64_t)));
      *made = 42;
      in.publish_root(root.index, made);
      return;
    }
    value = object<Object>();
    if (root.state == root_state::clean) arena().load_clean();
  }
  bool before_close() override { return true; }
  void collect_all() override {}
  void forbid() noexcept override {}

  const Object* value = nullptr;
};

template <class Object = std::uint64_t>
std::shared_ptr<number_session<Object>> attach(process_pool& in) {
  return in.service<sessions>().attach<number_session<Object>>(
      "number", {"number", 1}, [](process_pool& pool, const attached_root& root) {
        return std::make_shared<number_session<Object>>(pool, root);
      });
}

TEST(root_session, goes_with_its_root_when_the_pool_drops_it) {
  test::temp_directory directory;
  auto target = process_pool::create(directory.file("p"), small);
  {
    const auto used = attach(target);
    EXPECT_THROW(target.drop_root("number"), error);
    used->release();
  }
  target.drop_root("number");
  EXPECT_TRUE(target.roots().empty());
  EXPECT_EQ(attach(target)->root().state, root_state::fresh);
}

TEST(root_session, is_dropped_by_either_door) {
  test::temp_directory directory;
  auto target = process_pool::create(directory.file("p"), small);
  attach(target)->release();
  target.service<sessions>().drop("number");
  EXPECT_TRUE(target.roots().empty());
  EXPECT_THROW(target.service<sessions>().drop("number"), error);
}

/// A handle with no destructor of its own. Its constructor throws if it is not accepted.
class number {
 public:
  number(process_pool& in, bool is_accepted) : session_(in, "number", {"number", 1}) {
    if (!is_accepted) throw error(errc::bad_argument, in.path(), "not accepted");
  }
  [[nodiscard]] std::uint64_t value() const { return session_->value == nullptr ? 0 : 1; }

 private:
  roots::attached<number_session<std::uint64_t>> session_;
};
static_assert(!std::is_copy_constructible_v<number> && !std::is_move_constructible_v<number>);
static_assert(!std::is_copy_assignable_v<number> && !std::is_move_assignable_v<number>);

TEST(attached, gives_the_root_back_when_the_handle_goes) {
  test::temp_directory directory;
  auto target = process_pool::create(directory.file("p"), small);
  {
    const number first(target, true);
    EXPECT_THROW(number(target, true), error) << "one handle at a time";
    EXPECT_THROW(target.drop_root("number"), error);
  }
  const number second(target, true);
  EXPECT_EQ(second.value(), 0u) << "the session of the first handle, which created the root";
}

TEST(attached, gives_the_root_back_when_the_handle_is_not_made) {
  test::temp_directory directory;
  auto target = process_pool::create(directory.file("p"), small);
  EXPECT_THROW(number(target, false), error);
  EXPECT_NO_THROW(number(target, true));
}

TEST(root_session, believes_an_object_that_fits_its_block) {
  test::temp_directory directory;
  {
    auto target = process_pool::create(directory.file("p"), small);
    attach(target)->release();
    target.close();
  }
  auto target = process_pool::open(directory.file("p"));
  EXPECT_EQ(*attach(target)->value, 42u);
}

TEST(root_session, refuses_an_object_larger_than_its_block_and_names_the_file) {
  struct large {
    std::byte bytes[4096];
  };
  test::temp_directory directory;
  {
    auto target = process_pool::create(directory.file("p"), small);
    attach(target)->release();
    target.close();
  }
  auto target = process_pool::open(directory.file("p"));
  try {
    (void)attach<large>(target);
    FAIL();
  } catch (const corruption& refused) {
    EXPECT_EQ(refused.path(), directory.file("p"));
  }
}

TEST(root_session, refuses_an_object_in_the_middle_of_a_block) {
  test::temp_directory directory;
  auto target = process_pool::create(directory.file("p"), small);
  const attached_root root = target.attach_root("number", "number", 1, true);
  auto* const run = static_cast<std::byte*>(
      target.pages().allocate_run(pool_format::run_kind::large, root.index, 1, 2, 8192));
  target.publish_root(root.index, run + 4096);
  target.detach_root(root.index, false);
  EXPECT_THROW((void)attach(target), corruption);
}

}  // namespace
}  // namespace outlast::durable
