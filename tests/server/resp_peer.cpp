// Runs the conversation of RESP on its standard input and output, for resp_differential.
//
//   resp_peer [PASSWORD]
#include <outlast/server/resp.hpp>
#include <tests/server/pipe.hpp>
#include <tests/unit/server/resp_fake.hpp>

int main(int argc, char** argv) {
  outlast::server::resp_fake_items space;
  space.keeps_parts = true;
  outlast::server::resp_options options;
  if (argc > 1) options.password = argv[1];
  outlast::server::resp_counters counters;
  const auto connection = outlast::server::make_resp_conversation(space, options, counters);
  return outlast::test::converse(*connection);
}
