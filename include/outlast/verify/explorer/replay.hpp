// The main functions of a program that verifies its own structure: explore, replay a failure, try
// mutants.
//
//   int main(int argc, char** argv) {
//     outlast::verify::sequence_subject<my_stack> tested(
//         "my_stack", outlast::verify::sequence_oracle::discipline::stack);
//     return outlast::verify::run_program(tested, argc, argv);
//   }
//
//   ./my_stack                          explores for ten seconds
//   ./my_stack --replay ...             replays a failure by the command that it has printed
//   ./my_stack --mutants my_stack.hpp   makes each flush and fence of that file defective in turn
#pragma once

#include <outlast/verify/explorer/explorer.hpp>

#include <optional>
#include <string>
#include <vector>

namespace outlast::verify {

/// Returns one line that identifies an execution and the options on which it depends:
/// "--model portable --seed 5 --execution 3 --schedule '0*12 1*3'". The scope is omitted if
/// `how.replay_command` is set.
[[nodiscard]] std::string replay_text(const options& how, const coordinates& where);

/// Runs the execution that `text` identifies again. `text` is the text that a failure prints after
/// `replay:`, or a part of it; seed and execution suffice. It overrides options of `how`, which
/// must otherwise be those of the run that failed. Throws error{bad_argument} if the text is
/// malformed.
[[nodiscard]] report replay(subject& tested, const std::string& text, const options& how = {});

/// Returns the mutation with that name ("stack.hpp:45 flush missing") of a flush or fence that a
/// short run of `tested` passes, or nothing if no such run passes it.
[[nodiscard]] std::optional<mutation> find_mutation(subject& tested, const options& how,
                                                    const std::string& name);

/// Makes each flush and fence that a run of `tested` passes defective, in turn and in two ways. If
/// `files` is not empty, only files whose names begin with one of its elements are affected. Each
/// mutant is explored within the limits of `how`. A mutant that is not killed is redundant, or
/// needs more time or larger scenarios. Throws error{bad_argument} if `tested` fails without a
/// mutation.
[[nodiscard]] std::vector<mutant> try_mutants_in(subject& tested, const options& how,
                                                 const std::vector<std::string>& files = {});

/// Returns a text such as "stack.hpp:45 flush missing: killed after 12 executions, 0.02 s".
[[nodiscard]] std::string to_text(const mutant& tried);

/// Implements the main() of a program that verifies `tested`, and prints the results. Without
/// arguments it explores with the options `how`; `--help` prints the arguments. Returns the exit
/// status: 0 if nothing was found, 1 for a violation, 2 for invalid arguments.
int run_program(subject& tested, int argc, char** argv, const options& how = {});

}  // namespace outlast::verify
