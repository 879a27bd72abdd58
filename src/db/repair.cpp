// Repairs a damaged store: builds a new store from the data that can be read, and replaces the old
// one.
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

/// Throws the error for a file system without space. No data were lost.
[[noreturn]] void refuse_full(const std::string& file, const std::string& why) {
  throw error(errc::no_space, file,
              "its file system has no space for the repaired store (" + why +
                  "); nothing was changed; free some space and repair the store again");
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
    // The store is rebuilt even if the check finds no damage, because damage of the heap's free
    // blocks appears only at a write.
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
                       "none of its data can be read: " +
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
