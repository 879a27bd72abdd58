// Several threads of a structure under test, as fibers of one operating-system thread.
#pragma once

#include <outlast/base/thread_context.hpp>
#include <outlast/verify/explorer/random.hpp>
#include <outlast/verify/machine/fiber.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <vector>

namespace outlast::test::powercut {

/// Runs a body on each of its members, one at a time; another continues when the running one
/// yields. Thread-safety: none. Deterministic: the same choices yield the same interleaving.
class workers {
 public:
  workers(unsigned members, verify::random& choices);

  /// Returns when every member has done `body(number)`. Throws what the first of them threw.
  void run(const std::function<void(unsigned)>& body);
  /// Called by a member. Another member continues, if one is left. Does nothing outside of run().
  void yield();

 private:
  struct member {
    member(workers& its_workers, unsigned its_number);

    workers& owner;
    unsigned number;
    verify::fiber stack;
    base::thread_context context;
    bool at_work = false;
  };

  /// Returns where to go on when this member has finished.
  static verify::fiber& work(void* argument);
  /// Any member that has not finished; null if all have.
  [[nodiscard]] member* unfinished_member();

  verify::random& choices_;
  std::vector<std::unique_ptr<member>> members_;
  verify::fiber main_;
  member* running_ = nullptr;
  const std::function<void(unsigned)>* body_ = nullptr;
  std::exception_ptr failure_;
};

}  // namespace outlast::test::powercut
