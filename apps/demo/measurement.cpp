// Helpers of the demo's measurements: medians and pools.
#include <apps/demo/measurement.hpp>

namespace outlast::apps::demo {
namespace {

/// Returns the median of `values`. Requires: `values` is not empty.
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

template void count_flushes<
    durable::flit<durable::tag::adjacent, durable::automatic, domain::counting<domain::adr>>>(
    exchange_header& header, const prepared_text& text);

std::unique_ptr<timed> make_transient_twin(exchange_header& header, const prepared_text& text) {
  return std::make_unique<timed_table<durable::transient<domain::process>>>(header, text,
                                                                            "transient.pool");
}

void measure_throughput(exchange_header& header, const prepared_text& text, timed& durable) {
  constexpr std::size_t words_per_turn = 250'000;
  constexpr int turns = 3;
  const std::unique_ptr<timed> transient = make_transient_twin(header, text);
  const std::uint64_t passes = std::max<std::uint64_t>(1, words_per_turn / text.words());
  std::vector<double> mops;
  std::vector<double> ratios;
  for (int turn = 0; turn < turns; ++turn) {
    const double first = turn % 2 == 0 ? durable.run(passes) : transient->run(passes);
    const double second = turn % 2 == 0 ? transient->run(passes) : durable.run(passes);
    mops.push_back(turn % 2 == 0 ? first : second);
    ratios.push_back(turn % 2 == 0 ? first / second : second / first);
  }
  header.measured.mops = median(mops);
  header.measured.ratio_to_transient = median(ratios);
}

}  // namespace outlast::apps::demo
