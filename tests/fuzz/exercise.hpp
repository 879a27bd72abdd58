// The calls that every pool file must survive: check, opening, use, close and opening again.
#pragma once

#include <tests/fuzz/recipe.hpp>

#include <cstdint>
#include <span>
#include <stdexcept>

namespace outlast::fuzz {

/// A pool that was opened did not do what a pool does.
class broken_promise : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// How far an input got.
enum class outcome { refused, opened, reopened };

/// Opens what the input describes. The answer of the library must be an `outlast::error` or a pool
/// that works; anything else that it throws leaves this function, and broken_promise.
outcome exercise(const recipe& input);

}  // namespace outlast::fuzz
