// What the writer of a redo log and the reader of a found one have in common.
#pragma once

#include <outlast/pool/file/mapped_file.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/journal/log_format.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace outlast::pool_detail {

/// The stand-in of a test, or the kernel's files.
[[nodiscard]] log_device& device_of_logs() noexcept;

/// Throws what fail() throws if there is an error number.
void must(int error_number, const std::string& path, const std::string& action);

/// Fewer bytes than asked for where the file ends. Throws error{io_failure}.
std::size_t read_some(const std::string& path, int fd, std::uint64_t offset, void* to,
                      std::size_t size);

/// Writes the first page of a log of the pool `uuid`. Returns 0 or an errno.
[[nodiscard]] int write_header_page(const std::string& path, int fd,
                                    const pool_format::pool_uuid& uuid);
/// Writes the page `index`, 0 or 1, that has where a log begins. Returns 0 or an errno.
[[nodiscard]] int write_start_page(const std::string& path, int fd, unsigned index,
                                   pool_format::log_start start);

/// The file `fd` by its name once more, closed at execution; none if `path` leads elsewhere.
[[nodiscard]] unique_fd open_again(const std::string& path, int fd, int flags) noexcept;

/// Removes the names `path`, and whatever name the file `fd` has got meanwhile, as far as they lead
/// to that file. Durable at return. Throws what fail() throws.
void remove_own_file(const std::string& path, int fd);
/// The same where nothing has to be durable and an error is of no use.
void forget_own_file(const std::string& path, int fd) noexcept;

}  // namespace outlast::pool_detail
