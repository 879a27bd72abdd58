#include <tests/soak/curve.hpp>

#include <algorithm>
#include <numeric>
#include <span>
#include <stdexcept>

namespace outlast::test::soak {
namespace {

struct quarters {
  std::span<const std::int64_t> third;
  std::span<const std::int64_t> fourth;
};

quarters quarters_of(const curve& of, std::size_t period) {
  const std::size_t size = period == 0 ? 0 : of.waves.size() / 4 / period * period;
  if (size == 0) {
    throw std::invalid_argument(of.name + " has " + std::to_string(of.waves.size()) + " waves; " +
                                std::to_string(4 * period) + " are needed to check it");
  }
  const std::span<const std::int64_t> all(of.waves);
  const std::size_t first = all.size() - 2 * size;
  return {all.subspan(first, size), all.subspan(first + size, size)};
}

std::int64_t number_of(std::span<const std::int64_t> quarter, by compared) {
  if (compared == by::greatest) return *std::max_element(quarter.begin(), quarter.end());
  if (compared == by::least) return *std::min_element(quarter.begin(), quarter.end());
  const std::int64_t sum = std::accumulate(quarter.begin(), quarter.end(), std::int64_t{0});
  return sum / static_cast<std::int64_t>(quarter.size());
}

}  // namespace

verdict check_curve(const curve& of, std::size_t period) {
  const quarters in = quarters_of(of, period);
  verdict made{of.name, number_of(in.third, of.compared), number_of(in.fourth, of.compared), true,
               ""};
  const bool falls = of.compared == by::least;
  const std::int64_t growth = falls ? made.before - made.last : made.last - made.before;
  const auto share = static_cast<std::int64_t>(of.allowed.share * static_cast<double>(made.before));
  made.is_flat = growth <= std::max<std::int64_t>(share, 0) + of.allowed.more;
  if (!made.is_flat) {
    made.sentence = of.name + (falls ? " fell" : " grew") + " from " + std::to_string(made.before) +
                    " in the third quarter to " + std::to_string(made.last) + " in the fourth; " +
                    std::to_string(std::max<std::int64_t>(share, 0) + of.allowed.more) +
                    " are allowed";
  }
  return made;
}

verdict check_zero(const curve& of, std::size_t period) {
  const quarters in = quarters_of(of, period);
  verdict made{of.name, number_of(in.third, by::greatest), number_of(in.fourth, by::greatest), true,
               ""};
  made.is_flat = made.before == 0 && made.last == 0;
  if (!made.is_flat) {
    made.sentence = of.name + " are " + std::to_string(std::max(made.before, made.last)) +
                    " in a wave of the second half; they should be none";
  }
  return made;
}

}  // namespace outlast::test::soak
