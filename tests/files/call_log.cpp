#include <tests/files/call_log.hpp>
#include <tests/files/call_sites.hpp>

#include <cerrno>
#include <cstring>
#include <regex>

#include <unistd.h>

namespace outlast::test::files {

call_log& call_log::of_process() {
  static auto* const only = new call_log;
  return *only;
}

void call_log::watch(const std::string& root, const std::string& kept) {
  const std::lock_guard lock(mutex_);
  root_ = root;
  kept_ = kept;
}

void call_log::begin(const fault& planned, witness* seen,
                     std::function<void(const recorded_call&)> record) {
  const std::lock_guard lock(mutex_);
  planned_ = planned;
  seen_ = seen;
  record_ = std::move(record);
  counts_.clear();
  change_.reset();
  armed_ = true;
}

void call_log::end_operation() {
  const std::lock_guard lock(mutex_);
  if (change_) lose_power();
}

void call_log::end_faults() {
  const std::lock_guard lock(mutex_);
  armed_ = false;
}

bool call_log::has_no_proc() {
  const std::lock_guard lock(mutex_);
  if (!armed_ || !planned_.everywhere || planned_.at.name != "linkat unnamed") return false;
  seen_->reached = true;
  return true;
}

std::optional<std::string> call_log::role_of(const char* path) const {
  const std::lock_guard lock(mutex_);
  if (root_.empty() || std::strncmp(path, root_.c_str(), root_.size()) != 0) return std::nullopt;
  std::string role = path + root_.size();
  if (role.empty()) return "directory";
  if (role[0] != '/') return std::nullopt;
  role.erase(0, 1);
  static const std::regex random_part("\\.[0-9a-f]{8}\\.");
  return std::regex_replace(role, random_part, ".*.");
}

std::optional<std::string> call_log::role_of(int descriptor) const {
  const std::lock_guard lock(mutex_);
  const auto found = descriptors_.find(descriptor);
  return found == descriptors_.end() ? std::nullopt : std::optional(found->second);
}

const call_log::mapping* call_log::mapping_at(const void* address) const {
  const auto where = reinterpret_cast<std::uintptr_t>(address);
  auto found = mappings_.upper_bound(where);
  if (found == mappings_.begin()) return nullptr;
  --found;
  return where < found->second.end ? &found->second : nullptr;
}

std::optional<std::string> call_log::role_of_mapping(const void* address) const {
  const std::lock_guard lock(mutex_);
  const mapping* const found = mapping_at(address);
  return found == nullptr ? std::nullopt : std::optional(found->role);
}

std::optional<identity> call_log::file_of_mapping(const void* address) const {
  const std::lock_guard lock(mutex_);
  const mapping* const found = mapping_at(address);
  return found == nullptr ? std::nullopt : found->file;
}

void call_log::opened(int descriptor, const std::string& role) {
  const std::lock_guard lock(mutex_);
  descriptors_[descriptor] = role;
}

void call_log::closed(int descriptor) {
  const std::lock_guard lock(mutex_);
  descriptors_.erase(descriptor);
}

void call_log::mapped(const void* address, std::size_t size, const std::string& role,
                      std::optional<identity> file) {
  const std::lock_guard lock(mutex_);
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  mappings_[begin] = {begin + size, role, file};
}

call_log::verdict call_log::arrive(const arriving_call& call) {
  const std::lock_guard lock(mutex_);
  verdict met;
  if (!armed_) return met;
  if (change_ && call.syncs && change_->is_covered_by(*call.syncs)) lose_power();
  const bool is_planned =
      call.name == planned_.at.name && (planned_.everywhere || call.role == planned_.at.role);
  if (!is_planned && !record_) return met;
  const unsigned occurrence = counts_[{call.name, call.role}]++;
  if (record_) met.record = recorded_call{{call.name, call.role, occurrence}, call_site(), {}};
  if (!is_planned) return met;
  const bool later =
      planned_.everywhere || (planned_.from_then_on && occurrence > planned_.at.occurrence);
  if (occurrence != planned_.at.occurrence && !later) return met;
  switch (planned_.what) {
    case action::none: return met;
    case action::fail: met.error_number = planned_.error_number; break;
    case action::cut_short: met.cut_short = true; break;
    case action::kill_before: seen_->reached = true; ::_exit(ended_by_fault);
    case action::kill_after: break;
    case action::reorder:
      if (call.keep) change_ = call.keep();
      break;
    case action::move: move_away(root_); break;
  }
  met.is_target = true;
  seen_->reached = true;
  return met;
}

void call_log::leave(const arriving_call& call, verdict& met, bool succeeded) {
  const int number = errno;
  const std::lock_guard lock(mutex_);
  if (met.record) {
    met.record->changes = succeeded ? call.changes : effect::none;
    if (record_) record_(*met.record);
  }
  if (met.is_target) {
    if (planned_.what == action::kill_after) ::_exit(ended_by_fault);
    if (change_) change_->done();
  } else if (change_ && succeeded && call.changes != effect::none) {
    if (call.writes) change_->note_write(*call.writes, call.offset, call.size);
    if (++seen_->later_changes == planned_.later_changes) lose_power();
  }
  errno = number;
}

/// With the mutex.
void call_log::lose_power() {
  change_->take_back();
  seen_->cut = true;
  ::_exit(ended_by_fault);
}

void watch(const std::string& root, const std::string& kept) {
  call_log::of_process().watch(root, kept);
}
void begin_operation(const fault& planned, witness* seen,
                     std::function<void(const recorded_call&)> record) {
  call_log::of_process().begin(planned, seen, std::move(record));
}
void end_operation() { call_log::of_process().end_operation(); }
void end_faults() { call_log::of_process().end_faults(); }

}  // namespace outlast::test::files
