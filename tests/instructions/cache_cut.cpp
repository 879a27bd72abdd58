// A plugin for QEMU's user mode that takes the power away from a machine with volatile caches.
//
// The program that runs under it is an ordinary x86-64 program in memory of its own; the plugin
// sees its instructions, so nothing that the program stores can go around it. For the first file
// that is mapped shared and whose path contains PATH, the plugin keeps the media: what a machine
// would still have whose memory is persistent and whose caches are not. A line gets there by a
// write-back (clwb, clflushopt, clflush) or a streamed store, and then a fence of the same thread
// (sfence, mfence, a locked instruction). After CUT stores to the file the power goes: some lines,
// chosen at random, count as evicted in time; the rest of what was not written back is lost; the
// media are written to OUT; the process ends with status 99, before it can acknowledge anything
// else.
//
//   qemu-x86_64 -cpu max -plugin ./cache_cut.so,path=DIR,out=FILE,cut=500,evict=20,seed=1 ./program
//
// With cut=0 nothing is cut, and the end tells how many stores there were.
//
// How a line is known. QEMU executes a write-back as nothing, and plugins cannot read registers (in
// this version of their interface), so the address is unknown. The program therefore touches the
// line right before, by `testb $0, (reg)`, which no compiler writes: hw/flush.hpp does so where
// OUTLAST_TOUCH_BEFORE_FLUSH is defined. A write-back without a touch is counted as missed.
//
// What it does not see: of a line's stores, all or none are evicted, not some; the order in which
// the threads' stores happen is QEMU's; stores by the kernel (read() into the mapping) count as
// lost. Memory is read at the program's own addresses (guest base 0, as on x86-64).
//
// The entry points of QEMU are declared here (plugin interface version 1, QEMU 4.2 to 8): Debian
// has no header for them. This tool is our own.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

extern "C" {

using plugin_id = std::uint64_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
using translate_callback = void (*)(plugin_id, qemu_plugin_tb*);
using memory_callback = void (*)(unsigned vcpu, std::uint32_t info, std::uint64_t address, void*);
using execute_callback = void (*)(unsigned vcpu, void*);
using syscall_callback = void (*)(plugin_id, unsigned vcpu, std::int64_t number, std::uint64_t,
                                  std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
                                  std::uint64_t, std::uint64_t, std::uint64_t);
using return_callback = void (*)(plugin_id, unsigned vcpu, std::int64_t number, std::int64_t);

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, translate_callback);
std::size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb*);
qemu_plugin_insn* qemu_plugin_tb_get_insn(const qemu_plugin_tb*, std::size_t);
const void* qemu_plugin_insn_data(const qemu_plugin_insn*);
std::size_t qemu_plugin_insn_size(const qemu_plugin_insn*);
void qemu_plugin_register_vcpu_mem_cb(qemu_plugin_insn*, memory_callback, int registers, int access,
                                      void*);
void qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_insn*, execute_callback, int registers,
                                            void*);
void qemu_plugin_register_atexit_cb(plugin_id, void (*)(plugin_id, void*), void*);
void qemu_plugin_register_vcpu_syscall_cb(plugin_id, syscall_callback);
void qemu_plugin_register_vcpu_syscall_ret_cb(plugin_id, return_callback);
bool qemu_plugin_mem_is_store(std::uint32_t);
unsigned qemu_plugin_mem_size_shift(std::uint32_t);

[[gnu::visibility("default")]] extern const int qemu_plugin_version;
const int qemu_plugin_version = 1;

}  // extern "C"

namespace {

constexpr std::size_t line_bytes = 64;
constexpr int status_of_cut = 99;
using line_content = std::array<std::uint8_t, line_bytes>;

/// What the command line asks for.
struct request {
  std::string path = "pool";
  std::string out = "crash.img";
  std::uint64_t cut = 0;    ///< stores until the power goes; 0: it stays
  std::uint64_t evict = 0;  ///< per cent of the lines at risk that were evicted in time
  std::uint64_t seed = 1;
};

/// A line on its way to the media, as it was when its write-back began.
struct write_back {
  std::uint64_t line;
  std::uint64_t order;  ///< of all write-backs: an older one never replaces a newer one
  line_content bytes;
};

/// What one thread has under way.
struct thread_state {
  std::uint64_t touched = 0;
  std::vector<write_back> pending;
};

struct counters {
  std::uint64_t stores = 0;
  std::uint64_t write_backs = 0;
  std::uint64_t missed = 0;  ///< write-backs of nobody knows which line
  std::uint64_t fences = 0;  ///< that completed something
  std::uint64_t at_risk = 0;
  std::uint64_t evicted = 0;
};

/// The media, and what is on its way there. One per process.
class machine {
 public:
  request wanted;

  void store(std::uint64_t address) {
    if (!inside(address)) return;
    const std::lock_guard lock(mutex_);
    ++count_.stores;
    // The mutex stays locked: no other thread passes a fence that completes anything any more.
    if (wanted.cut != 0 && count_.stores >= wanted.cut) cut_power();
  }

  void touch(unsigned vcpu, std::uint64_t address) { of(vcpu).touched = address; }

  void flush(unsigned vcpu) {
    thread_state& own = of(vcpu);
    if (own.touched == 0) {
      ++count_.missed;
      return;
    }
    begin_write_back(own, std::exchange(own.touched, 0));
  }

  void stream(unsigned vcpu, std::uint64_t address) {
    begin_write_back(of(vcpu), address);
    store(address);
  }

  void fence(unsigned vcpu) {
    thread_state& own = of(vcpu);
    if (own.pending.empty()) return;
    const std::lock_guard lock(mutex_);
    ++count_.fences;
    for (const write_back& each : own.pending) {
      if (order_on_media_[each.line] > each.order) continue;
      order_on_media_[each.line] = each.order;
      std::memcpy(&media_[each.line * line_bytes], each.bytes.data(), line_bytes);
    }
    own.pending.clear();
  }

  /// The file is mapped: what it holds now is on the media.
  void map(std::uint64_t address, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (!media_.empty()) return;
    media_.assign(memory_at(address), memory_at(address) + bytes);
    order_on_media_.assign(bytes / line_bytes + 1, 0);
    base_ = address;
    bytes_ = bytes;
  }

  /// The file is about to be unmapped: what is not on the media now never will be.
  void unmap(std::uint64_t address) {
    const std::lock_guard lock(mutex_);
    if (bytes_ == 0 || address != base_) return;
    for_each_line_at_risk([this](std::uint64_t) { ++count_.at_risk; });
    bytes_ = 0;
  }

  void report() const {
    std::fprintf(stderr,
                 "cache_cut: stores %llu, write-backs %llu, missed %llu, fences %llu, lines never "
                 "made durable %llu\n",
                 as_printed(count_.stores), as_printed(count_.write_backs),
                 as_printed(count_.missed), as_printed(count_.fences), as_printed(count_.at_risk));
  }

 private:
  static unsigned long long as_printed(std::uint64_t number) { return number; }
  static const std::uint8_t* memory_at(std::uint64_t address) {
    return reinterpret_cast<const std::uint8_t*>(address);
  }
  [[nodiscard]] bool inside(std::uint64_t address) const { return address - base_ < bytes_; }
  [[nodiscard]] thread_state& of(unsigned vcpu) { return threads_[vcpu % threads_.size()]; }

  void begin_write_back(thread_state& own, std::uint64_t address) {
    if (!inside(address)) return;
    const std::lock_guard lock(mutex_);
    ++count_.write_backs;
    write_back& fresh = own.pending.emplace_back();
    fresh.line = (address - base_) / line_bytes;
    fresh.order = count_.write_backs;
    std::memcpy(fresh.bytes.data(), memory_at(base_ + fresh.line * line_bytes), line_bytes);
  }

  template <class Visit>
  void for_each_line_at_risk(Visit&& visit) const {
    for (std::uint64_t at = 0; at + line_bytes <= bytes_; at += line_bytes) {
      if (std::memcmp(&media_[at], memory_at(base_ + at), line_bytes) != 0) visit(at);
    }
  }

  [[noreturn]] void cut_power() {
    std::mt19937_64 random(wanted.seed * 1000003 + wanted.cut);
    for_each_line_at_risk([&](std::uint64_t at) {
      ++count_.at_risk;
      if (random() % 100 >= wanted.evict) return;
      ++count_.evicted;
      std::memcpy(&media_[at], memory_at(base_ + at), line_bytes);
    });
    write_media();
    std::fprintf(stderr,
                 "cache_cut: power cut after %llu stores: %llu lines not durable, %llu of them "
                 "evicted in time\n",
                 as_printed(count_.stores), as_printed(count_.at_risk), as_printed(count_.evicted));
    ::_exit(status_of_cut);
  }

  void write_media() const {
    const int file = ::open(wanted.out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    for (std::size_t at = 0; at < media_.size();) {
      const ssize_t written = ::write(file, &media_[at], media_.size() - at);
      if (written <= 0) {
        std::perror("cache_cut: cannot write the image");
        ::_exit(1);
      }
      at += static_cast<std::size_t>(written);
    }
    ::close(file);
  }

  std::mutex mutex_;
  std::uint64_t base_ = 0;
  std::uint64_t bytes_ = 0;
  std::vector<std::uint8_t> media_;
  std::vector<std::uint64_t> order_on_media_;
  std::array<thread_state, 1024> threads_;
  counters count_;
};

machine& the_machine() {
  static machine instance;
  return instance;
}

// ---- instructions ----

/// What an instruction means to persistent memory.
struct meaning {
  bool fence = false;
  bool flush = false;
  bool touch = false;
  bool stream = false;
};

/// An instruction without its prefixes.
struct opcode {
  std::vector<std::uint8_t> bytes;
  bool operand_size = false;
  bool locked = false;

  [[nodiscard]] unsigned at(std::size_t i) const { return i < bytes.size() ? bytes[i] : 0; }
};

bool is_plain_prefix(std::uint8_t byte) {
  return byte == 0xf2 || byte == 0xf3 || byte == 0x2e || byte == 0x3e || byte == 0x64 ||
         byte == 0x65 || (byte & 0xf0) == 0x40;
}

opcode without_prefixes(const std::uint8_t* bytes, std::size_t size) {
  opcode result;
  std::size_t at = 0;
  for (; at < size; ++at) {
    if (bytes[at] == 0x66) {
      result.operand_size = true;
    } else if (bytes[at] == 0xf0) {
      result.locked = true;
    } else if (!is_plain_prefix(bytes[at])) {
      break;
    }
  }
  result.bytes.assign(bytes + at, bytes + size);
  return result;
}

meaning meaning_of(const opcode& code) {
  meaning result;
  const unsigned mode = code.at(1) >> 6;
  const bool exchange = (code.at(0) == 0x86 || code.at(0) == 0x87) && mode != 3;
  result.fence = code.locked || exchange;
  result.touch =
      code.at(0) == 0xf6 && (code.at(1) >> 3 & 7) == 0 && mode != 3 && code.bytes.back() == 0;
  if (code.at(0) != 0x0f) return result;
  result.stream =
      code.at(1) == 0xc3 || code.at(1) == 0x2b || (code.at(1) == 0xe7 && code.operand_size);
  if (code.at(1) == 0xae) {
    const unsigned number = code.at(2) >> 3 & 7;
    const bool in_memory = code.at(2) >> 6 != 3;
    result.fence = !in_memory && (number == 6 || number == 7);
    result.flush = in_memory && (number == 7 || (number == 6 && code.operand_size));
  }
  return result;
}

void on_store(unsigned, std::uint32_t info, std::uint64_t address, void*) {
  if (qemu_plugin_mem_is_store(info)) the_machine().store(address);
}
void on_stream(unsigned vcpu, std::uint32_t, std::uint64_t address, void*) {
  the_machine().stream(vcpu, address);
}
void on_touch(unsigned vcpu, std::uint32_t, std::uint64_t address, void*) {
  the_machine().touch(vcpu, address);
}
void on_flush(unsigned vcpu, void*) { the_machine().flush(vcpu); }
void on_fence(unsigned vcpu, void*) { the_machine().fence(vcpu); }

void watch(qemu_plugin_insn* instruction) {
  constexpr int no_registers = 0;
  constexpr int reads_and_writes = 3;
  constexpr int writes = 2;
  const meaning means = meaning_of(
      without_prefixes(static_cast<const std::uint8_t*>(qemu_plugin_insn_data(instruction)),
                       qemu_plugin_insn_size(instruction)));
  if (means.fence) {
    qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_fence, no_registers, nullptr);
  }
  if (means.flush) {
    qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_flush, no_registers, nullptr);
  }
  const memory_callback see = means.touch ? on_touch : means.stream ? on_stream : on_store;
  qemu_plugin_register_vcpu_mem_cb(instruction, see, no_registers,
                                   means.touch ? reads_and_writes : writes, nullptr);
}

void on_translation(plugin_id, qemu_plugin_tb* block) {
  for (std::size_t i = 0; i < qemu_plugin_tb_n_insns(block); ++i) {
    watch(qemu_plugin_tb_get_insn(block, i));
  }
}

// ---- system calls ----

constexpr std::int64_t number_of_open = 2;
constexpr std::int64_t number_of_mmap = 9;
constexpr std::int64_t number_of_munmap = 11;
constexpr std::int64_t number_of_openat = 257;

/// The system call that this thread is in, and which descriptors are of files to be watched.
thread_local std::array<std::uint64_t, 6> arguments;
std::array<bool, 1024> watched;

void on_syscall(plugin_id, unsigned, std::int64_t number, std::uint64_t a, std::uint64_t b,
                std::uint64_t c, std::uint64_t d, std::uint64_t e, std::uint64_t f, std::uint64_t,
                std::uint64_t) {
  arguments = {a, b, c, d, e, f};
  if (number == number_of_munmap) the_machine().unmap(a);
}

void on_return(plugin_id, unsigned, std::int64_t number, std::int64_t result) {
  constexpr std::uint64_t mapping_kind = 3;
  constexpr std::uint64_t mapping_private = 2;
  if (result < 0) return;
  if (number == number_of_open || number == number_of_openat) {
    const auto* const path =
        reinterpret_cast<const char*>(arguments[number == number_of_openat ? 1 : 0]);
    const bool wanted = std::strstr(path, the_machine().wanted.path.c_str()) != nullptr;
    if (static_cast<std::size_t>(result) < watched.size()) {
      watched[static_cast<std::size_t>(result)] = wanted;
    }
  } else if (number == number_of_mmap && (arguments[3] & mapping_kind) != mapping_private &&
             arguments[4] < watched.size() && watched[arguments[4]]) {
    the_machine().map(static_cast<std::uint64_t>(result), arguments[1]);
  }
}

void read_argument(std::string_view argument) {
  const std::size_t equals = argument.find('=');
  if (equals == std::string_view::npos) return;
  const std::string_view name = argument.substr(0, equals);
  const std::string value(argument.substr(equals + 1));
  request& wanted = the_machine().wanted;
  if (name == "path") wanted.path = value;
  if (name == "out") wanted.out = value;
  if (name == "cut") wanted.cut = std::strtoull(value.c_str(), nullptr, 10);
  if (name == "evict") wanted.evict = std::strtoull(value.c_str(), nullptr, 10);
  if (name == "seed") wanted.seed = std::strtoull(value.c_str(), nullptr, 10);
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int qemu_plugin_install(plugin_id id, const void*,
                                                                  int count,
                                                                  char** arguments_given);

int qemu_plugin_install(plugin_id id, const void*, int count, char** arguments_given) {
  for (int i = 0; i < count; ++i) read_argument(arguments_given[i]);
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
  qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
  qemu_plugin_register_vcpu_syscall_ret_cb(id, on_return);
  qemu_plugin_register_atexit_cb(id, [](plugin_id, void*) { the_machine().report(); }, nullptr);
  return 0;
}
