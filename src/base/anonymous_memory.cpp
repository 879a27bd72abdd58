#include <outlast/base/anonymous_memory.hpp>
#include <outlast/base/error.hpp>
#include <src/base/address_limit.hpp>

#include <sys/mman.h>

#include <string>

namespace outlast::base {

anonymous_memory::anonymous_memory(std::size_t bytes) : bytes_(bytes) {
  void* const got = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) {
    throw out_of_space("no " + std::to_string(bytes >> 20) + " MiB of memory are to be had" +
                       sentence_of_address_limit());
  }
  first_ = static_cast<std::byte*>(got);
}

anonymous_memory::~anonymous_memory() {
  if (first_ != nullptr) (void)::munmap(first_, bytes_);
}

}  // namespace outlast::base
