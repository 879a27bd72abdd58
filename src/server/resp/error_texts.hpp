// Error texts that are Redis's. Clients read their first word, and some compare the rest.
#pragma once

#include <string_view>

namespace outlast::server::resp::error_texts {

inline constexpr std::string_view aborted =
    "EXECABORT Transaction discarded because of previous errors.";
inline constexpr std::string_view aborted_because = "EXECABORT Transaction discarded because of: ";
inline constexpr std::string_view client_name =
    "ERR Client names cannot contain spaces, newlines or special characters.";
inline constexpr std::string_view debug_command =
    "ERR DEBUG command not allowed. This server has no commands for debugging.";
inline constexpr std::string_view hello_without_password =
    "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO "
    "<proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP "
    "protocol version at the same time";
inline constexpr std::string_view lcs_of_others =
    "ERR The specified keys must contain string values";
inline constexpr std::string_view lcs_too_large =
    "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len";
inline constexpr std::string_view lcs_with_both =
    "ERR If you want both the length and indexes, please just use IDX.";
inline constexpr std::string_view library_end =
    " cannot contain spaces, newlines or special characters.";
inline constexpr std::string_view limit_of_places =
    "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX";
inline constexpr std::string_view no_frequency =
    "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that "
    "when switching between policies at runtime LRU and LFU data will take some time to adjust.";
inline constexpr std::string_view no_password =
    "ERR AUTH <password> called without any password configured for the default user. Are you sure "
    "your configuration is correct?";
inline constexpr std::string_view no_space =
    "OOM command not allowed when used memory > 'maxmemory'.";
inline constexpr std::string_view not_authenticated = "NOAUTH Authentication required.";
inline constexpr std::string_view rank_of_zero =
    "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use "
    "negative to start from the end of the list";
inline constexpr std::string_view scores_of_members =
    "ERR syntax error, WITHSCORES not supported in combination with BYLEX";
inline constexpr std::string_view see_help = " HELP.";
inline constexpr std::string_view too_long =
    "ERR string exceeds maximum allowed size (proto-max-bulk-len)";
inline constexpr std::string_view wrong_type =
    "WRONGTYPE Operation against a key holding the wrong kind of value";
inline constexpr std::string_view wrong_password =
    "WRONGPASS invalid username-password pair or user is disabled.";

}  // namespace outlast::server::resp::error_texts
