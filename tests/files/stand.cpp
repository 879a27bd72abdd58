#include <tests/files/call_sites.hpp>
#include <tests/files/faults.hpp>
#include <tests/files/snapshot.hpp>
#include <tests/files/stand.hpp>
#include <tests/support/memory_folder.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace outlast::test::files {
namespace {

namespace fs = std::filesystem;

constexpr unsigned limit_seconds = 20;  // of a process that hangs

template <std::size_t size>
void put(char (&to)[size], const std::string& text) {
  const std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

/// What the process has open or mapped below a directory.
std::vector<std::string> held_below(const std::string& root) {
  std::vector<std::string> all;
  std::error_code none;
  for (const auto& each : fs::directory_iterator("/proc/self/fd", none)) {
    const std::string target = fs::read_symlink(each.path(), none).string();
    if (target.rfind(root, 0) == 0) all.push_back("a descriptor of " + target.substr(root.size()));
  }
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t at = line.find(root);
    if (at != std::string::npos) all.push_back("a mapping of " + line.substr(at + root.size()));
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// Runs `body` in a child. What it returns is told in `to`; "" if it ended well.
std::string in_child(char (&to)[2048], const std::function<std::string()>& body) {
  to[0] = '\0';
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(limit_seconds);
    try {
      put(to, body());
    } catch (const std::exception& failure) {
      put(to, std::string("thrown: ") + failure.what());
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    return WTERMSIG(status) == SIGALRM ? "it did not return"
                                       : "signal " + std::to_string(WTERMSIG(status));
  }
  if (WEXITSTATUS(status) == ended_by_fault) return {};
  return WEXITSTATUS(status) == 0 ? to : "exit status " + std::to_string(WEXITSTATUS(status));
}

/// A row of the table: what one place in the library calls.
struct row {
  std::string name;
  std::string role;
  std::string site;
  std::vector<recorded_call> calls;
};

struct cell {
  unsigned tries = 0;
  unsigned wrong = 0;
  char letter = ' ';
};

class stand {
 public:
  stand(operation& what, const stand_options& options) : what_(what), options_(options) {
    fs::create_directory(root_);
    fs::create_directory(kept_);
    fs::create_directory(undone_);
    watch(root_, undone_);
    static_cast<void>(call_site());  // children find the symbols read
    seen_ = static_cast<witness*>(::mmap(nullptr, sizeof(witness), PROT_READ | PROT_WRITE,
                                         MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    const std::string failed = in_child(seen_->wrong, [&] {
      what_.prepare(root_);
      return std::string();
    });
    if (!failed.empty()) result.wrong.push_back(what_.name() + ": the state before: " + failed);
    before_.emplace(root_, kept_);
  }
  ~stand() { ::munmap(seen_, sizeof *seen_); }
  stand(const stand&) = delete;
  stand& operator=(const stand&) = delete;

  void run(std::ostream& to) {
    calls_ = record();
    result.calls = calls_.size();
    const std::vector<row> rows = in_rows(calls_);
    result.rows = rows.size();
    begin_table(to, rows);
    for (const row& each : rows) {
      std::vector<cell> cells;
      for (const column which : all_columns) cells.push_back(fill(each, which));
      print(to, each, cells);
    }
  }

  stand_result result;

 private:
  /// What the operation calls when nothing is wrong.
  std::vector<recorded_call> record() {
    const std::string file = folder_.path() / "calls";
    restore();
    const std::string failed = in_child(seen_->wrong, [&] {
      std::ofstream out(file);
      return run_operation({}, {}, [&](const recorded_call& call) {
        out << call.id.name << '\t' << call.id.role << '\t' << call.id.occurrence << '\t'
            << call.site << '\t' << static_cast<int>(call.changes) << std::endl;
      });
    });
    const std::string wrong = failed.empty() ? check({}) : failed;
    if (!wrong.empty()) result.wrong.push_back(what_.name() + ", without a fault: " + wrong);
    std::vector<recorded_call> all;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
      std::istringstream fields(line);
      recorded_call call;
      std::string occurrence;
      std::string changes;
      std::getline(fields, call.id.name, '\t');
      std::getline(fields, call.id.role, '\t');
      std::getline(fields, occurrence, '\t');
      std::getline(fields, call.site, '\t');
      std::getline(fields, changes, '\t');
      call.id.occurrence = static_cast<unsigned>(std::stoul(occurrence));
      call.changes = static_cast<effect>(std::stoi(changes));
      all.push_back(std::move(call));
    }
    return all;
  }

  static std::vector<row> in_rows(const std::vector<recorded_call>& calls) {
    std::vector<row> rows;
    for (const recorded_call& call : calls) {
      auto found = std::find_if(rows.begin(), rows.end(), [&](const row& each) {
        return each.name == call.id.name && each.role == call.id.role && each.site == call.site;
      });
      if (found == rows.end()) {
        rows.push_back({call.id.name, call.id.role, call.site, {}});
        found = rows.end() - 1;
      }
      found->calls.push_back(call);
    }
    return rows;
  }

  [[nodiscard]] bool is_first_of_name(const recorded_call& call) const {
    const auto first = std::find_if(calls_.begin(), calls_.end(), [&](const recorded_call& each) {
      return each.id.name == call.id.name;
    });
    return first != calls_.end() && first->id == call.id;
  }

  void restore() {
    fs::remove_all(moved_to(root_));
    before_->restore();
    for (const auto& each : fs::directory_iterator(undone_)) fs::remove_all(each.path());
    *seen_ = {};
  }

  /// The operation and what becomes of the process, in it.
  std::string run_operation(const fault& planned, const choice& from,
                            const std::function<void(const recorded_call&)>& recorder) {
    const std::vector<std::string> at_first = held_below(root_);
    what_.begin(root_);
    begin_operation(planned, seen_, recorder);
    const std::string text = what_.run(root_);
    put(seen_->text, text);
    seen_->acknowledged = text.empty();
    seen_->returned = true;
    end_operation();
    end_faults();
    const bool may_fail = planned.what == action::fail || planned.what == action::cut_short;
    if (!text.empty()) {
      if (!may_fail) return "it fails without a fault: " + text;
      const bool is_of_memory =
          planned.error_number == ENOMEM && text.find("memory") != std::string::npos;
      if (text.find(root_) == std::string::npos && !is_of_memory) {
        return "the error names no file: " + text;
      }
      if (from.must_succeed) return "it fails: " + text;
      const std::string again = what_.run_again(root_);
      if (!again.empty()) return "after '" + text + "' a second call fails: " + again;
      seen_->acknowledged = true;
    } else if (from.must_not_succeed && seen_->reached && what_.reports_failure()) {
      return "it returns OK although it is not durable";
    }
    what_.end();
    const std::vector<std::string> at_last = held_below(root_);
    if (at_last != at_first) {
      return "it keeps " + (at_last.empty() ? "less" : at_last.back()) +
             (text.empty() ? "" : " after '" + text + "'");
    }
    return {};
  }

  std::string check(const fault& planned) {
    const bool reads = planned.at.name == "pread" || planned.at.name == "mmap";
    const end_of_incarnation before{seen_->acknowledged, planned.what == action::reorder,
                                    planned.what == action::fail && reads};
    return in_child(seen_->wrong, [&] { return what_.check(root_, before); });
  }

  /// Runs the operation while the files are moved and others take their names. It may fail.
  std::string try_moved(const fault& planned) {
    restore();
    ++result.tries;
    std::string wrong = in_child(seen_->wrong, [&] {
      what_.begin(root_);
      begin_operation(planned, seen_);
      static_cast<void>(what_.run(root_));
      end_operation();
      end_faults();
      what_.end();
      return std::string();
    });
    if (wrong.empty() && !seen_->reached) wrong = "this time there was no such call";
    return wrong.empty() ? check_foreign_files(root_) : wrong;
  }

  /// Runs the operation with one fault. Returns the first defect.
  std::string try_once(const fault& planned, const choice& from) {
    restore();
    ++result.tries;
    std::string wrong = in_child(seen_->wrong, [&] { return run_operation(planned, from, {}); });
    if (wrong.empty() && !seen_->reached) wrong = "this time there was no such call";
    return wrong.empty() ? check(planned) : wrong;
  }

  std::string try_fault(const fault& planned, const choice& from) {
    if (planned.what == action::move) return try_moved(planned);
    std::string wrong = try_once(planned, from);
    if (planned.what != action::reorder || !wrong.empty()) return wrong;
    // Earlier moments of the power cut.
    const unsigned later = seen_->later_changes;
    for (unsigned moment = 1; moment < later && wrong.empty(); ++moment) {
      fault earlier = planned;
      earlier.later_changes = moment;
      wrong = try_once(earlier, from);
      if (!options_.thoroughly) break;
    }
    return wrong;
  }

  cell fill(const row& in, column which) {
    cell filled;
    for (const recorded_call& call : in.calls) {
      const bool is_end = &call == &in.calls.front() || &call == &in.calls.back();
      if (!options_.thoroughly && !is_end) continue;
      const choice from = faults_of(call, which,
                                    {is_first_of_name(call), what_.loses_power(),
                                     what_.holds_its_files(), options_.thoroughly});
      if (from.faults.empty()) filled.letter = from.letter;
      for (const fault& planned : from.faults) {
        ++filled.tries;
        const std::string wrong = try_fault(planned, from);
        if (wrong.empty()) continue;
        ++filled.wrong;
        report(in, call, which, planned, wrong);
      }
    }
    if (filled.tries == 0 && filled.letter == ' ') ++result.empty;
    return filled;
  }

  void report(const row& in, const recorded_call& call, column which, const fault& planned,
              const std::string& wrong) {
    std::string text = what_.name() + " | " + in.name + " of " + in.role + ", number " +
                       std::to_string(call.id.occurrence + 1) + ", in " + in.site + " | " +
                       std::string(name_of(which));
    if (planned.what == action::fail) {
      text += " (" + std::generic_category().message(planned.error_number) +
              (planned.from_then_on ? ", from then on)" : ")");
    }
    std::string shown = wrong;
    for (std::size_t at = 0; (at = shown.find(root_)) != std::string::npos;) {
      shown.replace(at, root_.size(), "DIR");
    }
    result.wrong.push_back(text + " | " + shown);
  }

  void begin_table(std::ostream& to, const std::vector<row>& rows) {
    for (const row& each : rows) {
      width_ = std::max(width_, each.name.size() + each.role.size() + 4);
      site_width_ = std::max(site_width_, each.site.size());
    }
    to << "\n" << what_.name() << ": " << result.calls << " calls\n";
    print_line(to, "call", "in", "times",
               [](std::size_t i) { return std::string(name_of(all_columns.at(i))); });
  }

  void print(std::ostream& to, const row& one, const std::vector<cell>& cells) const {
    print_line(to, one.name + " of " + one.role, one.site, std::to_string(one.calls.size()),
               [&](std::size_t i) {
                 const cell& at = cells[i];
                 if (at.wrong != 0) return "FAIL " + std::to_string(at.wrong);
                 if (at.tries != 0) return "ok " + std::to_string(at.tries);
                 return std::string(1, at.letter);
               });
  }

  void print_line(std::ostream& to, const std::string& call, const std::string& site,
                  const std::string& times,
                  const std::function<std::string(std::size_t)>& column_text) const {
    std::string line = call + std::string(width_ + 2 - call.size(), ' ') + site +
                       std::string(site_width_ + 2 - site.size(), ' ');
    line += std::string(6 - std::min<std::size_t>(6, times.size()), ' ') + times;
    for (std::size_t i = 0; i < all_columns.size(); ++i) {
      const std::string text = column_text(i);
      line += std::string(9 - std::min<std::size_t>(9, text.size()), ' ') + text;
    }
    to << line << '\n';
  }

  operation& what_;
  stand_options options_;
  scratch_folder folder_;
  std::string root_ = (folder_.path() / "tried").string();
  std::string kept_ = (folder_.path() / "kept").string();
  std::string undone_ = (folder_.path() / "undone").string();
  std::vector<recorded_call> calls_;
  witness* seen_ = nullptr;
  std::optional<snapshot> before_;
  std::size_t width_ = 0;
  std::size_t site_width_ = 0;
};

}  // namespace

stand_result try_operation(operation& what, const stand_options& options, std::ostream& to) {
  stand trial(what, options);
  if (trial.result.wrong.empty()) trial.run(to);
  return trial.result;
}

}  // namespace outlast::test::files
