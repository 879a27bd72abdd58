// What a program that verifies a structure of its own does: explore, show a failure again, try
// mutants.
//
//   int main(int argc, char** argv) {
//     outlast::verify::sequence_subject<my_stack> tested(
//         "my_stack", outlast::verify::sequence_oracle::discipline::stack);
//     return outlast::verify::run_program(tested, argc, argv);
//   }
//
//   ./my_stack                          explores for ten seconds
//   ./my_stack --replay ...             shows a failure again: it has printed this command
//   ./my_stack --mutants my_stack.hpp   makes each flush and fence of that file defective in turn
#pragma once

#include <outlast/verify/explorer/explorer.hpp>

#include <optional>
#include <string>
#include <vector>

namespace outlast::verify {

/// What names an execution, and the options on which it depends, in a line:
/// "--model portable --seed 5 --execution 3 --schedule '0*12 1*3'". The scope is left out where
/// `how.replay_command` is set.
[[nodiscard]] std::string replay_text(const options& how, const coordinates& where);

/// Runs the execution that `text` names again. `text` is what a failure prints behind `replay:`, or
/// a part of it, in which seed and execution suffice; it replaces what `how` says, which is
/// otherwise as it was in the run that failed. Throws error{bad_argument} where the text makes no
/// sense.
[[nodiscard]] report replay(subject& tested, const std::string& text, const options& how = {});

/// The mutation of that name ("stack.hpp:45 flush missing") among those of the flushes and fences
/// that a short run of `tested` passes; none if no such run passes it.
[[nodiscard]] std::optional<mutation> find_mutation(subject& tested, const options& how,
                                                    const std::string& name);

/// Makes each flush and fence defective, in turn and in two ways, that a run of `tested` passes in
/// the files whose names begin with one of `files`, in all files where none is given. Each is
/// explored within the limits of `how`. A mutant that is not killed is redundant, or shows what the
/// verifier has not seen: more seconds, larger scenarios. Throws error{bad_argument} where `tested`
/// fails as it is.
[[nodiscard]] std::vector<mutant> try_mutants_in(subject& tested, const options& how,
                                                 const std::vector<std::string>& files = {});

/// "stack.hpp:45 flush missing: killed after 12 executions, 0.02 s".
[[nodiscard]] std::string to_text(const mutant& tried);

/// The main() of a program that verifies `tested`: prints what it does and what it finds. Without
/// arguments explores as `how` says. Returns the exit status: 0, nothing was found; 1, there is a
/// violation; 2, the arguments make no sense. `--help` prints them.
int run_program(subject& tested, int argc, char** argv, const options& how = {});

}  // namespace outlast::verify
