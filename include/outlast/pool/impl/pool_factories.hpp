// Bodies of basic_pool: creating and opening.
#pragma once

#include <outlast/pool/detail/fresh_pool.hpp>
#include <outlast/pool/detail/opening.hpp>
#include <outlast/pool/impl/pool_backup.hpp>
#include <outlast/pool/impl/pool_growth.hpp>
#include <outlast/pool/impl/pool_impl.hpp>
#include <outlast/pool/impl/pool_space.hpp>

namespace outlast {

template <domain::persistence_domain D>
basic_pool<D> basic_pool<D>::create(const std::string& path, const pool_options& options) {
  require_place(path);
  return basic_pool(pool_detail::create_pool_file(path, options, domain::logs_lines<D>), path,
                    options);
}

template <domain::persistence_domain D>
basic_pool<D> basic_pool<D>::open(const std::string& path, const pool_options& options) {
  require_place(path);
  return basic_pool(pool_detail::open_pool_file(path, options, domain::logs_lines<D>), path,
                    options);
}

template <domain::persistence_domain D>
basic_pool<D> basic_pool<D>::open_or_create(const std::string& path, const pool_options& options) {
  return basic_pool(open_or_create_file(path, options), path, options);
}

template <domain::persistence_domain D>
pool_detail::opened_pool basic_pool<D>::open_or_create_file(const std::string& path,
                                                            const pool_options& options) {
  require_place(path);
  constexpr int attempts = 16;  // another process may create or remove the file
  for (int attempt = 1;; ++attempt) {
    try {
      return pool_detail::open_pool_file(path, options, domain::logs_lines<D>);
    } catch (const error& failure) {
      if (failure.reason() != errc::not_found || attempt == attempts) throw;
    }
    try {
      return pool_detail::create_pool_file(path, options, domain::logs_lines<D>);
    } catch (const error& failure) {
      if (failure.reason() != errc::already_exists || attempt == attempts) throw;
    }
  }
}

template <domain::persistence_domain D>
void basic_pool<D>::require_place(const std::string& path) {
  if constexpr (!is_native) pool_detail::require_place_for(D::current_kind(), path);
}

template <domain::persistence_domain D>
template <class Make>
std::unique_ptr<basic_pool<D>> basic_pool<D>::without_exceptions(Make&& make,
                                                                 std::error_code& failed) {
  failed.clear();
  try {
    return std::unique_ptr<basic_pool>(make());
  } catch (const error& failure) {
    failed = failure.code();
  } catch (const out_of_space&) {
    failed = make_error_code(errc::no_space);
  } catch (const std::bad_alloc&) {
    failed = std::make_error_code(std::errc::not_enough_memory);
  }
  return nullptr;
}

template <domain::persistence_domain D>
std::unique_ptr<basic_pool<D>> basic_pool<D>::try_create(const std::string& path,
                                                         const pool_options& options,
                                                         std::error_code& failed) {
  return without_exceptions([&] { return new basic_pool(create(path, options)); }, failed);
}

template <domain::persistence_domain D>
std::unique_ptr<basic_pool<D>> basic_pool<D>::try_open(const std::string& path,
                                                       const pool_options& options,
                                                       std::error_code& failed) {
  return without_exceptions([&] { return new basic_pool(open(path, options)); }, failed);
}

template <domain::persistence_domain D>
std::unique_ptr<basic_pool<D>> basic_pool<D>::try_open_or_create(const std::string& path,
                                                                 const pool_options& options,
                                                                 std::error_code& failed) {
  return without_exceptions([&] { return new basic_pool(open_or_create(path, options)); }, failed);
}

template <domain::persistence_domain D>
std::unique_ptr<basic_pool<D>> basic_pool<D>::in_memory(void* memory, std::size_t bytes, bool fresh,
                                                        const pool_options& options) {
  if (reinterpret_cast<std::uintptr_t>(memory) % pool_format::page_bytes != 0) {
    throw error(errc::bad_argument, "", "the memory of a pool must be aligned to 4096 bytes");
  }
  if (fresh)
    return std::unique_ptr<basic_pool>(
        new basic_pool(format_memory(memory, bytes, options), options));
  auto* const base = static_cast<std::byte*>(memory);
  memory_image image{base, bytes, pool_detail::validate_header({base, bytes}, ""), false};
  const auto read = [base](std::uint64_t offset, void* to, std::size_t size) {
    std::memcpy(to, base + offset, size);
  };
  if (image.header.file_bytes() <= bytes) {
    pool_format::raise_size(image.header, pool_detail::tables_of(image.header, read, ""));
  }
  if (image.header.file_bytes() > bytes) {
    throw error(errc::truncated, "", "the memory is smaller than the pool that it holds");
  }
  const std::uint64_t shadow_bytes = image.header.fixed.shadow_distance_in_memory;
  if (shadow_bytes != 0 && (!options.reserve_shadow_copy || shadow_bytes > bytes)) {
    throw error(errc::bad_argument, "",
                "the pool has shadow copies of regions, " + std::to_string(shadow_bytes) +
                    " bytes above these: provide memory for them, and set "
                    "pool_options::reserve_shadow_copy");
  }
  return std::unique_ptr<basic_pool>(new basic_pool(image, options));
}

template <domain::persistence_domain D>
typename basic_pool<D>::memory_image basic_pool<D>::format_memory(void* memory, std::size_t bytes,
                                                                  const pool_options& options) {
  pool_options sized = options;
  const std::size_t whole = bytes / pool_format::page_bytes * pool_format::page_bytes;
  sized.size_bytes = options.capacity_bytes == 0 ? whole : std::min(options.size_bytes, whole);
  sized.capacity_bytes = whole;
  pool_detail::pool_sizes sizes = pool_detail::sizes_for(sized, "");
  if (sizes.shadow_distance != 0) sizes.shadow_distance = whole;
  auto* const base = static_cast<std::byte*>(memory);
  const pool_format::header_page page =
      pool_detail::make_header(sizes, {}, reinterpret_cast<std::uintptr_t>(memory));
  pool_format::growth_words words{};
  sizes.capacity_bytes = 0;  // the limit is the memory
  if (page.fixed.format_version != pool_format::version_1) {
    pool_detail::make_growth_words(sizes, page, words);
  }
  pool_detail::write_fresh_pool<D>(base, page, words, options.memory_holds_zeros);
  return {base, bytes, pool_detail::validate_header({base, bytes}, ""), true};
}

}  // namespace outlast
