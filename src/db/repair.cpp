// A store that does not open any more, or is damaged, becomes one of what can still be read.
#include <outlast/base/error.hpp>
#include <outlast/db/detail/engine.hpp>
#include <src/db/btree_engine.hpp>
#include <src/db/filled_store.hpp>
#include <src/db/store_files.hpp>

#include <exception>
#include <memory>
#include <string>

namespace outlast::store_detail {

namespace {

/// Throws the error of a system that has no room; nothing was lost.
[[noreturn]] void refuse_full(const std::string& file, const std::string& why) {
  throw error(errc::no_space, file,
              "there is no room beside it for the repaired store (" + why +
                  "); nothing was changed; make room, and repair it then");
}

}  // namespace

repair_report repair_store(const store_options& wanted, medium on, const std::string& aside) {
  settle_store(wanted.file, {aside});
  store_options damaged = wanted;
  damaged.salvage = true;
  damaged.may_create = false;
  repair_report report;
  try {
    auto image = std::make_unique<read_image>(wanted.file, on, true);
    report.left_out = image->memory.left_out();
    const std::unique_ptr<engine> from = open_image(damaged, std::move(image));
    report.was_wrong = from->check();
    // Also if it finds nothing: damage of the heap's free blocks appears only at a change.
    store_options sound = from->shape();
    sound.file = aside;
    sound.may_create = true;
    sound.salvage = false;
    fill_new_store(
        sound, [&](const store_options& made) { return open_store(made, on); },
        [&](engine& to) { report.found = from->repair_into(to); },
        [&] { remove_store_files(aside); });
    if (report.found.keys == 0 && !(report.was_wrong.empty() && report.left_out.empty())) {
      throw corruption(wanted.file,
                       "nothing in it can be read: " +
                           (report.was_wrong.empty() ? report.left_out.front() : report.was_wrong));
    }
    report.kept = replace_and_keep(wanted.file, aside);
  } catch (...) {
    const std::exception_ptr failed = std::current_exception();
    settle_store(wanted.file, {aside});
    try {
      std::rethrow_exception(failed);
    } catch (const out_of_space& full) {
      refuse_full(wanted.file, full.what());
    } catch (const error& refused) {
      if (refused.reason() != errc::no_space) throw;
      refuse_full(wanted.file, refused.what());
    }
  }
  return report;
}

}  // namespace outlast::store_detail
