// Goal: what leads out of itself is recognised wherever the compiler can see it, and nothing else
// is refused. Method: types of both kinds, judged at compile time.
#include <outlast/root/storable.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace outlast {
namespace {

enum class color : std::uint8_t { red };

class counter {
 public:
  counter() {}  // may throw, for all that is known
  [[nodiscard]] int value() const { return value_; }

 private:
  int value_ = 0;
};
struct nothing {};
struct point {
  int x;
  double y;
};
struct point_in_space : point {
  int z;
};
struct named_nothing : nothing {
  int value;
};
struct of_all {
  char name[48];
  const int number;
  nothing none;
  point where;
  std::array<std::uint64_t, 3> words;
  std::chrono::seconds since;
  std::optional<int> maybe;
  std::pair<int, int> both;
  std::tuple<int, color> several;
  counter hidden;
  bool is_set;
  unsigned bits : 3;
  point path[4];
};
union either {
  int whole;
  double real;
};

static_assert(survives<int> && survives<double> && survives<color> && survives<bool>);
static_assert(survives<roots::no_value> && survives<nothing> && survives<point> &&
              survives<either>);
static_assert(survives<point_in_space> && survives<named_nothing> && survives<counter>);
static_assert(survives<of_all> && survives<std::array<of_all, 100>> && survives<std::string>);
static_assert(survives<std::array<char, 4096>> && survives<std::chrono::nanoseconds>);

static_assert(!survives<int*> && !survives<void*> && !survives<const char*>);
static_assert(!survives<void (*)()> && !survives<int point::*> && !survives<void (point::*)()>);
static_assert(!survives<int&> && !survives<int&&> && !survives<int* [4]>);
static_assert(!survives<std::string_view> && !survives<std::span<int>>);
static_assert(!survives<std::span<const char, 8>> && !survives<std::reference_wrapper<int>>);
static_assert(!survives<std::array<const char*, 2>> && !survives<std::array<std::string_view, 2>>);
static_assert(!survives<std::pair<int, int*>> && !survives<std::optional<std::string_view>>);
static_assert(!survives<std::tuple<int, std::tuple<char*>>>);

template <class T>
struct first {
  T of;
};
template <class T>
struct last {
  char name[48];
  std::pair<int, int> both;
  counter hidden;
  std::optional<int> maybe;
  T of;
};
template <class T>
struct sixteenth {
  int before[15];
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n;
  T of;
};
template <class T>
struct inside {
  int before;
  struct {
    point where;
    struct {
      int before;
      T of;
    } inner;
  } outer;
};
template <class T>
struct with_base : first<T> {
  int more;
};

template <class T>
inline constexpr bool seen_everywhere =
    !survives<first<T>> && !survives<last<T>> && !survives<sixteenth<T>> && !survives<inside<T>> &&
    !survives<with_base<T>> && !survives<std::array<last<T>, 2>> && !survives<inside<last<T>>>;
template <class T>
inline constexpr bool accepted_everywhere =
    survives<first<T>> && survives<last<T>> && survives<sixteenth<T>> && survives<inside<T>> &&
    survives<with_base<T>> && survives<std::array<last<T>, 2>> && survives<inside<last<T>>>;

static_assert(seen_everywhere<const char*> && seen_everywhere<void (*)(int)>);
static_assert(seen_everywhere<std::string_view> && seen_everywhere<std::span<int, 4>>);
static_assert(seen_everywhere<std::optional<int*>> && seen_everywhere<std::array<int*, 2>>);
static_assert(accepted_everywhere<int> && accepted_everywhere<of_all>);
static_assert(!survives<first<int&>> && !survives<first<const int&>> && !survives<with_base<int&>>);

struct index_in_disguise {
  void* word;
};

}  // namespace

template <>
inline constexpr bool survives<index_in_disguise> = true;

namespace {

static_assert(survives<index_in_disguise> && survives<first<index_in_disguise>>);
static_assert(survives<inside<index_in_disguise>>);
static_assert(base::must_survive<index_in_disguise> && base::must_survive<const of_all>);

/// Links between nodes of a pool are moved with them.
static_assert(base::must_survive_or_link<point*> && base::must_survive_or_link<void*>);

TEST(survives, is_judged_where_a_key_is_used) {
  EXPECT_TRUE(base::keepable<point_in_space>);
  EXPECT_FALSE(base::keepable<std::string>);
}

}  // namespace
}  // namespace outlast
