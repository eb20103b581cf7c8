# Writes OUTPUT, a header that names the commit of the sources in SOURCE; leaves it alone if it says so already.
cmake_minimum_required(VERSION 3.25)
set(commit unknown)
find_program(GIT git)
if(GIT AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT} -C ${SOURCE} describe --always --dirty=+ --exclude=* OUTPUT_VARIABLE said
                  OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
  if(NOT failed)
    set(commit ${said})
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define HALOCLINE_COMMIT \"@commit@\"\n" @ONLY)
