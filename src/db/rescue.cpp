// A store that does not open any more, or is damaged, becomes one of what can still be read.
#include <outlast/base/error.hpp>
#include <outlast/db/detail/store.hpp>
#include <src/db/store_files.hpp>

#include <memory>
#include <string>

namespace outlast::store_detail {

rescue_report rescue_store(const store_options& wanted, medium on, const std::string& aside) {
  store_options damaged = wanted;
  damaged.salvage = true;
  damaged.may_create = false;
  const std::unique_ptr<store> from = open_store(damaged, on);
  rescue_report report;
  report.was_wrong = from->check();
  // Also if it finds nothing: what the heap says of its free blocks only a change would tell.
  remove_store_files(aside);
  store_options sound = from->shape();
  sound.file = aside;
  sound.may_create = true;
  sound.salvage = false;
  try {
    {
      const std::unique_ptr<store> to = open_store(sound, on);
      report.keys = from->rescue(*to);
      to->close();
    }
    if (report.keys == 0 && !report.was_wrong.empty()) {
      throw corruption(wanted.file, "nothing in it can be read: " + report.was_wrong);
    }
  } catch (...) {
    remove_store_files(aside);
    throw;
  }
  replace_store(wanted.file, aside);
  return report;
}

}  // namespace outlast::store_detail
