// The functions that the writer and the reader of a redo log share.
#pragma once

#include <outlast/pool/file/mapped_file.hpp>
#include <outlast/pool/file/test_hooks.hpp>
#include <outlast/pool/journal/log_format.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace outlast::pool_detail {

/// Returns the replacement by a test, or the kernel's files.
[[nodiscard]] log_device& device_of_logs() noexcept;

/// Throws the error of fail() if `error_number` is not 0.
void must(int error_number, const std::string& path, const std::string& action);

/// Returns the number of bytes that were read, which is less than `size` at the end of the file.
/// Throws error{io_failure}.
std::size_t read_some(const std::string& path, int fd, std::uint64_t offset, void* to,
                      std::size_t size);

/// Writes the first page of a log of the pool `uuid`. Returns 0 or an errno.
[[nodiscard]] int write_header_page(const std::string& path, int fd,
                                    const pool_format::pool_uuid& uuid);
/// Writes the page `index`, 0 or 1, that has the start of a log. Returns 0 or an errno.
[[nodiscard]] int write_start_page(const std::string& path, int fd, unsigned index,
                                   pool_format::log_start start);

/// Opens the file `fd` by its name again, closed at execution; returns an empty descriptor if
/// `path` leads to another file.
[[nodiscard]] unique_fd open_again(const std::string& path, int fd, int flags) noexcept;

/// Removes the name `path`, and the present name of the file `fd`, if they lead to that file.
/// Durable at return. Throws the errors of fail().
void remove_own_file(const std::string& path, int fd);
/// Like the above, without durability and errors.
void forget_own_file(const std::string& path, int fd) noexcept;

}  // namespace outlast::pool_detail
