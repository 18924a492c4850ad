# The three header-only libraries. Each becomes an interface target relata_<name> whose include folder holds one link
# to the library's headers: a system's own /usr/include must not come before Emscripten's.

include(FetchContent)

# relata_headers(NAME <target> PACKAGE <name> FOLDER <folder below the include folder> VERSION_FILE <header>
#                VERSION_PREFIX <macro prefix> LEAST <version> REPOSITORY <owner/name> TAG <tag> INCLUDE <folder in it>)
function(relata_headers)
  cmake_parse_arguments(
    arg "" "NAME;PACKAGE;FOLDER;VERSION_FILE;VERSION_PREFIX;LEAST;REPOSITORY;TAG;INCLUDE" "" ${ARGN})

  # Header-only, so what a package file says of the word size or the target system does not matter.
  set(CMAKE_SIZEOF_VOID_P "")
  set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
  set(XSIMD_ENABLE_XTL_COMPLEX OFF)
  find_package(${arg_PACKAGE} QUIET CONFIG)
  set(include "")
  if(${arg_PACKAGE}_FOUND)
    cmake_path(GET ${arg_PACKAGE}_DIR ROOT_PATH top)
    set(folder "${${arg_PACKAGE}_DIR}")
    while(NOT folder STREQUAL top AND NOT include)
      if(EXISTS "${folder}/include/${arg_FOLDER}/${arg_VERSION_FILE}")
        set(include "${folder}/include")
      endif()
      cmake_path(GET folder PARENT_PATH folder)
    endwhile()
  endif()

  if(include)
    relata_header_version(version "${include}/${arg_FOLDER}/${arg_VERSION_FILE}" ${arg_VERSION_PREFIX})
    if(version VERSION_LESS arg_LEAST)
      message(STATUS "${arg_PACKAGE} ${version} is older than ${arg_LEAST}: fetching ${arg_TAG}")
      set(include "")
    endif()
  endif()
  if(NOT include)
    # SOURCE_SUBDIR names a folder without a CMakeLists.txt: the headers are wanted, not the project.
    FetchContent_Declare(
      relata_${arg_NAME}
      GIT_REPOSITORY https://github.com/${arg_REPOSITORY}.git
      GIT_TAG ${arg_TAG}
      GIT_SHALLOW ON
      SOURCE_SUBDIR headers-only)
    FetchContent_MakeAvailable(relata_${arg_NAME})
    cmake_path(APPEND include "${relata_${arg_NAME}_SOURCE_DIR}" "${arg_INCLUDE}")
    relata_header_version(version "${include}/${arg_FOLDER}/${arg_VERSION_FILE}" ${arg_VERSION_PREFIX})
    if(version VERSION_LESS arg_LEAST)
      message(FATAL_ERROR "${arg_PACKAGE} ${arg_LEAST} or newer is needed, ${version} was found in ${include}")
    endif()
  endif()
  message(STATUS "${arg_PACKAGE} ${version} (${include})")

  set(links "${PROJECT_BINARY_DIR}/headers/${arg_NAME}")
  file(MAKE_DIRECTORY "${links}")
  file(CREATE_LINK "${include}/${arg_FOLDER}" "${links}/${arg_FOLDER}" SYMBOLIC)
  add_library(relata_${arg_NAME} INTERFACE)
  target_include_directories(relata_${arg_NAME} SYSTEM INTERFACE "${links}")
endfunction()

# The version that a header's <prefix>MAJOR, MINOR and PATCH macros state.
function(relata_header_version result header prefix)
  set(numbers "")
  foreach(part MAJOR MINOR PATCH)
    file(STRINGS "${header}" line REGEX "#define ${prefix}${part} +[0-9]+" LIMIT_COUNT 1)
    string(REGEX MATCH "[0-9]+" number "${line}")
    list(APPEND numbers "${number}")
  endforeach()
  list(JOIN numbers "." version)
  set(${result} "${version}" PARENT_SCOPE)
endfunction()

relata_headers(
  NAME xsimd PACKAGE xsimd LEAST 14.0.0
  FOLDER xsimd VERSION_FILE config/xsimd_config.hpp VERSION_PREFIX XSIMD_VERSION_
  REPOSITORY xtensor-stack/xsimd TAG 14.3.0 INCLUDE include)
relata_headers(
  NAME json PACKAGE nlohmann_json LEAST 3.11.0
  FOLDER nlohmann VERSION_FILE detail/abi_macros.hpp VERSION_PREFIX NLOHMANN_JSON_VERSION_
  REPOSITORY nlohmann/json TAG v3.12.0 INCLUDE include)
relata_headers(
  NAME doctest PACKAGE doctest LEAST 2.4.11
  FOLDER doctest VERSION_FILE doctest.h VERSION_PREFIX DOCTEST_VERSION_
  REPOSITORY doctest/doctest TAG v2.5.3 INCLUDE .)
