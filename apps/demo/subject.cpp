// The list of the demo's subjects, and the entry point of its child processes.
#include <apps/demo/subject.hpp>

#include <apps/demo/policies/policies.hpp>

#include <exception>

namespace outlast::apps::demo {

std::span<const subject> all_subjects() {
  static const subject subjects[] = {
      flit_adjacent(), flit_hashed(), flit_line(), flit_always(), flit_adjacent_adr(),
  };
  return subjects;
}

int run_child(int descriptor) {
  die_with_parent();
  exchange shared(descriptor);
  exchange_header& header = shared.header();
  const subject& chosen = all_subjects()[header.subject];
  try {
    (header.what == task::ingest ? chosen.ingest : chosen.measure)(shared);
    return header.reached.load() == stage::failed ? 1 : 0;
  } catch (const std::exception& failure) {
    put_text(header.message, failure.what());
    header.reached.store(stage::failed, std::memory_order_release);
    return 1;
  }
}

}  // namespace outlast::apps::demo
