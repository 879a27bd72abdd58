# Copies of the headers of a layer in which single sentences of its protocol can be switched off, by the
# number in `broken_LAYER::defect`. A sentence that is not there any more stops the build.
#
# The caller sets LAYER, `from` (the folder of the headers) and `to` (where the copies go: to/broken_LAYER).

# outlast_mutate(<number> <what stands there> <what stands there instead>): in TEXT of the caller. In
# the replacement @D@ is "the defect is not on".
function(outlast_mutate NUMBER FROM TO)
  string(FIND "${TEXT}" "${FROM}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "mutant ${NUMBER} of ${LAYER} finds no '${FROM}'")
  endif()
  string(REPLACE "@D@" "(::outlast::broken_${LAYER}::defect != ${NUMBER})" TO "${TO}")
  string(REPLACE "${FROM}" "${TO}" TEXT "${TEXT}")
  set(TEXT "${TEXT}" PARENT_SCOPE)
endfunction()

macro(outlast_read_header HEADER)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${from}/${HEADER})
  file(READ ${from}/${HEADER} TEXT)
  string(REPLACE "<outlast/${LAYER}/" "<broken_${LAYER}/" TEXT "${TEXT}")
  string(REPLACE "outlast::${LAYER}" "outlast::broken_${LAYER}" TEXT "${TEXT}")
endmacro()
macro(outlast_write_header HEADER)
  file(CONFIGURE OUTPUT ${to}/broken_${LAYER}/${HEADER} CONTENT "${TEXT}" @ONLY)
endmacro()
