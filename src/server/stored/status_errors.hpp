// Converts a status of a store to exceptions.
#pragma once

#include <outlast/db/status.hpp>

#include <string>

namespace outlast::server::stored {

/// Returns if the status is OK. Otherwise throws out_of_space, std::bad_alloc, corruption, or an
/// error with the path of the store.
void require(const db::Status& status, const std::string& path);

}  // namespace outlast::server::stored
