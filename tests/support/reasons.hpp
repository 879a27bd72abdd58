// What tests ask of errors.
#pragma once

#include <outlast/base/error.hpp>

#include <gtest/gtest.h>

namespace outlast::test {

/// Why `action` throws; a failure of the test if it does not.
template <class Action>
errc reason_of(Action&& action) {
  try {
    action();
  } catch (const error& refused) {
    return refused.reason();
  }
  ADD_FAILURE() << "nothing was thrown";
  return errc{};
}

}  // namespace outlast::test
