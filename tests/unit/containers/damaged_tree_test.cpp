// Goal: a read or a change of a damaged tree throws corruption, at the latest at the damage. No
// link is followed out of the replica, into the heap's tables, or in a circle. Method: trees in a
// replica in ordinary memory; each value that is read is corrupted in turn.
#include <outlast/base/error.hpp>
#include <outlast/containers/bplus_tree.hpp>
#include <outlast/containers/byte_string.hpp>
#include <outlast/containers/managed_tree.hpp>
#include <outlast/domain/process.hpp>
#include <outlast/tx/left_right.hpp>
#include <outlast/tx/redo_opt.hpp>
#include <outlast/tx/transient.hpp>
#include <tests/support/temp_pool.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace outlast::containers {
namespace {

using namespace tx;

using tree = bplus_tree<std::string, std::string>;
using leaf = detail::leaf_page<std::string, std::string, 47>;
using inner = detail::inner_page<std::string, 47>;

/// So long that separators have blocks of their own.
std::string key_of(int i) { return std::string(30, 'k') + std::to_string(1000 + i); }

/// `f` is refused as damage.
template <class F>
void expect_damage(F&& f) {
  try {
    f();
    ADD_FAILURE() << "done in a damaged tree";
  } catch (const error& refused) {
    EXPECT_EQ(refused.reason(), errc::corrupted) << refused.what();
  }
}

class DamagedTree : public testing::Test {
 protected:
  static constexpr int keys = 200;

  DamagedTree() {
    for (int i = 0; i < keys; ++i) {
      manager_.update(tree_, [=](tree& t) { t.put(key_of(i), std::string(20, 'v')); });
    }
  }

  static pointer<std::byte>& root_link(tree& of) {
    return reinterpret_cast<pointer<std::byte>&>(of);
  }
  static inner& root_of(tree& of) { return *reinterpret_cast<inner*>(root_link(of).get()); }
  static leaf& first_leaf(tree& of) { return *static_cast<leaf*>(root_of(of).item(0).child.get()); }
  template <class T>
  static void write(void* at, std::size_t offset, T what) {
    running().store(static_cast<std::byte*>(at) + offset, &what, sizeof what);
  }
  /// Addresses where no page is: beyond the replica, too near to its end, on no multiple of eight,
  /// and in the tables of the heap; the last one is no address at all.
  static std::vector<std::byte*> wrong_places() {
    std::byte* const begin = running().replica();
    std::byte* const end = begin + running().bytes();
    return {end, end - 8, begin - 4096, begin + 131'073, begin + 1152, begin, nullptr};
  }

  /// Everybody who comes to the first keys meets it.
  void expect_refused() {
    const std::string key = key_of(0);
    expect_damage([&] { manager_.read(tree_, [&](const tree& t) { return t.contains(key); }); });
    expect_damage([&] { manager_.read(tree_, [](const tree& t) { t.for_each(ignored); }); });
    expect_damage([&] {
      manager_.read(tree_, [](const tree& t) { t.now().descend([](auto, auto) { return true; }); });
    });
    expect_damage([&] { manager_.update(tree_, [&](tree& t) { t.put(key, "other"); }); });
    expect_damage([&] { manager_.update(tree_, [&](tree& t) { t.erase(key); }); });
    manager_.read(tree_, [](const tree& t) { EXPECT_NE(t.check(), ""); });
  }
  /// `f(tree)` spoils it; then it is as good as before.
  template <class F>
  void expect_refused_after(F&& f) {
    std::vector<std::byte> good;
    manager_.update(tree_, [&](tree& t) {
      good.assign(running().replica(), running().replica() + running().bytes());
      f(t);
    });
    expect_refused();
    manager_.update(tree_,
                    [&](tree&) { std::memcpy(running().replica(), good.data(), good.size()); });
    manager_.read(tree_, [](const tree& t) { ASSERT_EQ(t.check(), ""); });
  }

  static void ignored(std::string_view /*key*/, std::string_view /*value*/) {}

  transient manager_{{.replica_bytes = std::size_t{1} << 20}};
  root<tree> tree_ = manager_.root<tree>("tree");
};

TEST_F(DamagedTree, whose_root_lies_elsewhere_is_refused) {
  for (std::size_t i = 0; i < 6; ++i) {
    expect_refused_after([=](tree& t) { root_link(t) = wrong_places().at(i); });
  }
}

TEST_F(DamagedTree, whose_pages_lie_elsewhere_is_refused) {
  for (std::size_t i = 0; i < 6; ++i) {
    expect_refused_after([=](tree& t) {
      for (std::size_t each = 0; each < root_of(t).size(); ++each) {
        root_of(t).item(each).child = reinterpret_cast<detail::page_header*>(wrong_places().at(i));
      }
    });
  }
}

TEST_F(DamagedTree, that_leads_in_a_circle_is_refused) {
  expect_refused_after([](tree& t) {
    for (std::size_t i = 0; i < root_of(t).size(); ++i) root_of(t).item(i).child = &root_of(t);
  });
}

TEST_F(DamagedTree, of_a_height_that_no_tree_has_is_refused) {
  for (const std::uint32_t level : {2U, 64U, 1U << 30, ~0U}) {
    expect_refused_after([=](tree& t) { root_of(t).level = level; });
  }
}

TEST_F(DamagedTree, whose_pages_have_more_items_than_room_or_none_is_refused) {
  for (const std::uint8_t count : {std::uint8_t{0}, std::uint8_t{48}, std::uint8_t{255}}) {
    expect_refused_after([=](tree& t) { write(&root_of(t), 16, count); });
    expect_refused_after([=](tree& t) {
      for (std::size_t i = 0; i < root_of(t).size(); ++i) {
        write(root_of(t).item(i).child.get(), 16, count);
      }
    });
  }
}

TEST_F(DamagedTree, whose_places_name_no_slot_is_refused) {
  for (const std::uint8_t slot : {std::uint8_t{47}, std::uint8_t{128}, std::uint8_t{255}}) {
    expect_refused_after([=](tree& t) {
      for (std::size_t i = 0; i < 47; ++i) write(&root_of(t), 17 + i, slot);
    });
    expect_refused_after([=](tree& t) {
      for (std::size_t i = 0; i < root_of(t).size(); ++i) {
        for (std::size_t at = 17; at < 64; ++at) write(root_of(t).item(i).child.get(), at, slot);
      }
    });
  }
}

TEST_F(DamagedTree, whose_strings_lie_elsewhere_is_refused) {
  for (std::size_t i = 0; i < 7; ++i) {
    expect_refused_after([=](tree& t) {
      for (std::size_t page = 0; page < root_of(t).size(); ++page) {
        auto& at = *static_cast<leaf*>(root_of(t).item(page).child.get());
        for (std::size_t each = 0; each < at.size(); ++each) {
          reinterpret_cast<pointer<std::byte>&>(at.item(each)) = wrong_places().at(i);
        }
      }
    });
  }
}

TEST_F(DamagedTree, whose_strings_are_longer_than_the_replica_is_refused) {
  for (const std::uint64_t sizes : {0xffff'ffffULL, 0xffff'ffffULL << 32, ~0ULL}) {
    expect_refused_after([=](tree& t) {
      for (std::size_t page = 0; page < root_of(t).size(); ++page) {
        auto& at = *static_cast<leaf*>(root_of(t).item(page).child.get());
        for (std::size_t each = 0; each < at.size(); ++each) {
          write(reinterpret_cast<pointer<std::byte>&>(at.item(each)).get(), 8, sizes);
        }
      }
    });
  }
}

TEST_F(DamagedTree, whose_separators_lie_elsewhere_finds_nothing) {
  for (std::size_t i = 0; i < 6; ++i) {
    manager_.update(tree_, [=](tree& t) {
      for (std::size_t each = 1; each < root_of(t).size(); ++each) {
        auto* const size = reinterpret_cast<std::byte*>(&root_of(t).item(each).separator);
        ::new (size + 8) pointer<std::byte>(wrong_places().at(i));
      }
    });
    expect_damage(
        [&] { manager_.read(tree_, [](const tree& t) { return t.contains(key_of(100)); }); });
    expect_damage([&] { manager_.update(tree_, [](tree& t) { t.put(key_of(100), ""); }); });
  }
}

TEST_F(DamagedTree, whose_leaf_has_lost_its_place_is_not_written_beyond_it) {
  // Two ways lead to one page: what is merged with itself would be written over.
  manager_.update(tree_,
                  [](tree& t) { root_of(t).item(1).child = root_of(t).item(0).child.get(); });
  int refused = 0;
  for (int i = 0; i < keys; ++i) {
    try {
      manager_.update(tree_, [=](tree& t) { t.erase(key_of(i)); });
    } catch (const corruption&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
  manager_.read(tree_, [](const tree& t) { EXPECT_NE(t.check(), ""); });
}

// ---- What is kept for snapshots ----

class DamagedVersions : public DamagedTree {
 protected:
  DamagedVersions() {
    manager_.update(tree_, [](tree& t) { return t.open_snapshot(); });
    manager_.update(tree_, [](tree& t) { t.put(key_of(0), "other"); });
    manager_.update(tree_, [](tree& t) { return t.open_snapshot(); });
    manager_.update(tree_, [](tree& t) { t.put(key_of(1), "other"); });
  }
  static pointer<std::byte>& newest_link(tree& of) {
    return reinterpret_cast<pointer<std::byte>&>(*(reinterpret_cast<std::byte*>(&of) + 24));
  }
  static constexpr std::size_t moment_at = 0;
  static constexpr std::size_t older_at = 16;
  static constexpr std::size_t chunk_at = 24;
  static pointer<std::byte>& link_in(std::byte* of, std::size_t at) {
    return reinterpret_cast<pointer<std::byte>&>(*(of + at));
  }
  template <class F>
  void expect_refused_after_spoiling(F&& f) {
    std::vector<std::byte> good;
    manager_.update(tree_, [&](tree& t) {
      good.assign(running().replica(), running().replica() + running().bytes());
      f(t);
    });
    manager_.read(tree_, [](const tree& t) { EXPECT_FALSE(t.keeps_sound_versions()); });
    expect_damage([&] {
      manager_.update(tree_, [](tree& t) {
        t.close_all_snapshots();
        return t.reap(1000);
      });
    });
    manager_.update(tree_,
                    [&](tree&) { std::memcpy(running().replica(), good.data(), good.size()); });
  }
};

TEST_F(DamagedVersions, that_lie_elsewhere_are_refused) {
  for (std::size_t i = 0; i < 6; ++i) {
    expect_refused_after_spoiling([=](tree& t) { newest_link(t) = wrong_places().at(i); });
    expect_refused_after_spoiling(
        [=](tree& t) { link_in(newest_link(t), older_at) = wrong_places().at(i); });
    expect_refused_after_spoiling(
        [=](tree& t) { link_in(newest_link(t), chunk_at) = wrong_places().at(i); });
  }
}

TEST_F(DamagedVersions, that_run_in_a_circle_are_refused) {
  expect_refused_after_spoiling(
      [](tree& t) { link_in(newest_link(t), older_at) = newest_link(t).get(); });
  expect_refused_after_spoiling(
      [](tree& t) { write(newest_link(t).get(), moment_at, ~std::uint64_t{0}); });
}

TEST_F(DamagedVersions, that_keep_more_than_has_room_are_refused) {
  expect_refused_after_spoiling(
      [](tree& t) { write(link_in(newest_link(t), chunk_at).get(), 8, std::uint64_t{16}); });
}

TEST_F(DamagedVersions, that_keep_nothing_where_something_is_kept_are_refused) {
  manager_.update(
      tree_, [](tree& t) { write(link_in(newest_link(t), chunk_at).get(), 8, std::uint64_t{0}); });
  expect_damage([&] {
    manager_.update(tree_, [](tree& t) {
      t.close_all_snapshots();
      return t.reap(1000);
    });
  });
}

TEST_F(DamagedVersions, that_keep_what_is_no_block_are_refused) {
  manager_.update(tree_, [](tree& t) {
    link_in(link_in(newest_link(t), chunk_at).get(), 16) = running().replica() + running().bytes();
  });
  expect_damage([&] {
    manager_.update(tree_, [](tree& t) {
      t.close_all_snapshots();
      return t.reap(1000);
    });
  });
}

TEST_F(DamagedVersions, of_which_none_is_open_are_refused_where_one_should_be) {
  manager_.update(tree_, [](tree& t) {
    for (std::byte* each = newest_link(t); each != nullptr; each = link_in(each, older_at)) {
      write(each, 8, std::uint64_t{0});
    }
  });
  expect_damage([&] { manager_.update(tree_, [](tree& t) { t.put(key_of(5), "other"); }); });
}

// ---- Strings, and who is told ----

TEST(DamagedString, lies_elsewhere_and_is_refused) {
  transient manager({.replica_bytes = std::size_t{1} << 20});
  const root<byte_string> named = manager.root<byte_string>("string");
  manager.update(named, [](byte_string& s) { s.assign(std::string(100, 's')); });
  manager.update(named, [](byte_string& s) {
    ::new (reinterpret_cast<std::byte*>(&s) + 8)
        pointer<std::byte>(running().replica() + running().bytes() - 8);
  });
  expect_damage(
      [&] { manager.read(named, [](const byte_string& s) { return s.view().size() + 1; }); });
  expect_damage([&] { manager.update(named, [](byte_string& s) { s.assign("short"); }); });
}

struct alignas(64) wide {
  field<std::uint64_t> number;
};

TEST(DamagedObjects, that_lie_in_the_tables_or_askew_are_refused) {
  transient manager({.replica_bytes = std::size_t{1} << 20});
  const root<wide> named = manager.root<wide>("wide");
  const auto header = [] {
    return reinterpret_cast<tx::detail::heap_header*>(running().replica());
  };
  for (const std::ptrdiff_t wrong : {-std::ptrdiff_t(named.offset) + 1152, std::ptrdiff_t{8}}) {
    manager.update([=](view) { header()->roots->object = header()->roots->object.get() + wrong; });
    expect_damage([&] { static_cast<void>(manager.root<wide>("wide")); });
    manager.update([=](view) { header()->roots->object = header()->roots->object.get() - wrong; });
  }
  manager.update([=](view) {
    header()->roots =
        reinterpret_cast<root_entry*>(reinterpret_cast<std::byte*>(header()->roots.get()) + 8);
  });
  expect_damage([&] { static_cast<void>(manager.root<wide>("wide")); });
}

template <class Manager>
class DamagedManager : public testing::Test {};
using engines = testing::Types<left_right<domain::process>, redo_opt<domain::process>>;
TYPED_TEST_SUITE(DamagedManager, engines);

TYPED_TEST(DamagedManager, names_the_file_and_goes_on) {
  test::temp_pool<domain::process> pool;
  managed_tree<TypeParam, tree> all(*pool, "all", {.replica_bytes = std::size_t{1} << 20});
  for (int i = 0; i < 200; ++i) all.put(key_of(i), "value");
  all.change([](tree& t) {
    const auto root = reinterpret_cast<pointer<std::byte>&>(t).get();
    reinterpret_cast<inner*>(root)->item(0).child =
        reinterpret_cast<detail::page_header*>(running().replica() + running().bytes());
  });
  const auto expect_named = [&](auto&& f) {
    try {
      f();
      ADD_FAILURE() << "done in a damaged tree";
    } catch (const corruption& damage) {
      EXPECT_EQ(damage.path(), pool->path());
      EXPECT_NE(std::string(damage.what()).find("page of a tree"), std::string::npos);
    }
  };
  expect_named([&] { all.put(key_of(0), "other"); });
  expect_named([&] { static_cast<void>(all.get(key_of(0))); });
  const auto then = all.take_snapshot();
  typename managed_tree<TypeParam, tree>::iterator at(then);
  expect_named([&] { at.seek_to_first(); });
  EXPECT_FALSE(at.is_valid());
  EXPECT_TRUE(all.put(key_of(500), "what is not damaged is written"));
  EXPECT_EQ(all.get(key_of(199)), "value");
}

TEST(DamagedOrder, ends_an_iterator_that_would_run_in_a_circle) {
  using small = bplus_tree<std::string, std::string, std::less<>, 6>;
  using small_inner = detail::inner_page<std::string, 6>;
  test::temp_pool<domain::process> pool(std::size_t{32} << 20);
  managed_tree<left_right<domain::process>, small> all(*pool, "all",
                                                       {.replica_bytes = std::size_t{8} << 20});
  // Each is so large that it is read alone.
  for (int i = 0; i < 16; ++i) all.put(key_of(i), std::string(70'000, 'v'));
  all.change([](small& t) {
    auto& root = *reinterpret_cast<small_inner*>(reinterpret_cast<pointer<std::byte>&>(t).get());
    root.item(1).child = root.item(0).child.get();
  });
  const auto then = all.take_snapshot();
  const auto walk = [&](auto&& seek, auto&& step) {
    typename managed_tree<left_right<domain::process>, small>::iterator at(then);
    seek(at);
    for (int steps = 0; at.is_valid() && steps < 1000; ++steps) step(at);
    EXPECT_FALSE(at.is_valid()) << "a circle";
  };
  expect_damage([&] { walk([](auto& at) { at.seek_to_first(); }, [](auto& at) { at.next(); }); });
}

}  // namespace
}  // namespace outlast::containers
