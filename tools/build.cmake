# One function makes a whole build: the rooms of src, the core tests, and for WebAssembly the modules: one for every
# machine and one with relaxed SIMD, which differ in the kernels alone. With and without threads that makes four.

# relata_build(NAME <name> [THREADS])
function(relata_build)
  cmake_parse_arguments(arg "THREADS" "NAME" "" ${ARGN})

  # Everything that must be the same in every file of one build.
  set(flags ${arg_NAME}_flags)
  add_library(${flags} INTERFACE)
  target_include_directories(${flags} INTERFACE "${PROJECT_SOURCE_DIR}")
  target_compile_options(
    ${flags}
    INTERFACE
      -Wall -Wextra -Wconversion -Wshadow
      # Clang counts signedness as conversion, GCC does not.
      $<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion>
      # A multiply-add happens where the source writes one: the same result in every build and on every path.
      -ffp-contract=off)
  if(EMSCRIPTEN)
    # No assertion of a library may abort what is shipped, nor name the files of the machine that built it.
    target_compile_definitions(${flags} INTERFACE NDEBUG)
    target_compile_options(${flags} INTERFACE -msimd128 $<$<BOOL:${arg_THREADS}>:-sSHARED_MEMORY>)
    target_link_options(
      ${flags}
      INTERFACE
        # The threads are our own (bindings/wasm/threads.cpp): POSIX's weigh 8 kB more, compressed.
        $<$<BOOL:${arg_THREADS}>:-sSHARED_MEMORY>
        $<$<BOOL:${arg_THREADS}>:-sIMPORTED_MEMORY>
        # What is read from a memory that grows and is shared is checked at every access: we read little.
        $<$<BOOL:${arg_THREADS}>:-Wno-pthreads-mem-growth>
        -sALLOW_MEMORY_GROWTH
        # 64 MB short of 4 GB: small blocks are allocated without a look at the end of the address space (bindings/wasm/allocate.cpp).
        -sMAXIMUM_MEMORY=4032MB
        -sSTACK_SIZE=1MB)
  else()
    find_package(Threads REQUIRED)
    target_link_libraries(${flags} INTERFACE Threads::Threads)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
      target_compile_options(${flags} INTERFACE -mavx2 -mfma)
    endif()
  endif()

  if(arg_THREADS OR NOT EMSCRIPTEN)
    target_compile_definitions(${flags} INTERFACE RELATA_THREADS $<$<BOOL:${EMSCRIPTEN}>:RELATA_SERVED>)
  endif()

  # A room sees the rooms to its left.
  relata_room(${arg_NAME} base ${flags})
  relata_room(${arg_NAME} kernels ${arg_NAME}_base relata_xsimd)
  relata_room(${arg_NAME} relation ${arg_NAME}_kernels)
  relata_room(${arg_NAME} model ${arg_NAME}_relation)
  relata_room(${arg_NAME} formats ${arg_NAME}_model)
  relata_room(${arg_NAME} generate ${arg_NAME}_model)
  if(EMSCRIPTEN)
    # The time goes into kernels and relations, whose vectors are written out; what calls them is better small.
    relata_room(${arg_NAME} kernels ${arg_NAME}_base relata_xsimd TARGET ${arg_NAME}_kernels_relaxed)
    target_compile_options(${arg_NAME}_kernels_relaxed PRIVATE -mrelaxed-simd)
    foreach(kernels kernels kernels_relaxed)
      target_compile_options(${arg_NAME}_${kernels} PRIVATE -fno-vectorize -fno-slp-vectorize)
    endforeach()
    foreach(room base model formats generate)
      target_compile_options(${arg_NAME}_${room} PRIVATE -Oz -flto)
    endforeach()
    set_source_files_properties(
      src/kernels/packed_matrix.cpp src/kernels/rounded.cpp src/kernels/weight_matrix.cpp src/relation/relation_alteration.cpp
      src/relation/relation_index.cpp src/relation/relation_tables.cpp PROPERTIES COMPILE_OPTIONS -Oz)
  endif()
  set(rooms ${arg_NAME}_formats ${arg_NAME}_generate)

  file(GLOB tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/core/*.cpp")
  if(tests)
    add_executable(${arg_NAME}_core_tests ${tests})
    set_target_properties(${arg_NAME}_core_tests PROPERTIES OUTPUT_NAME core_tests)
    target_link_libraries(${arg_NAME}_core_tests PRIVATE ${rooms} relata_doctest relata_json)
    if(EMSCRIPTEN)
      # Golden files are read from the real file system. A .js file here would be taken for an ES module.
      set_target_properties(${arg_NAME}_core_tests PROPERTIES SUFFIX .cjs)
      target_compile_options(${arg_NAME}_core_tests PRIVATE -fwasm-exceptions)
      target_link_options(
        ${arg_NAME}_core_tests
        PRIVATE -fwasm-exceptions -sENVIRONMENT=node -sNODERAWFS -sEXIT_RUNTIME --minify=0)
    endif()
  endif()

  # Benchmarks are programs to run by hand, one per file, never tests.
  file(GLOB benchmarks CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/bench/*.cpp")
  foreach(source ${benchmarks})
    cmake_path(GET source STEM program)
    add_executable(${arg_NAME}_${program} EXCLUDE_FROM_ALL ${source})
    set_target_properties(${arg_NAME}_${program} PROPERTIES OUTPUT_NAME ${program})
    target_link_libraries(${arg_NAME}_${program} PRIVATE ${arg_NAME}_generate)
    if(EMSCRIPTEN)
      set_target_properties(${arg_NAME}_${program} PROPERTIES SUFFIX .cjs)
      # Names, for `node --cpu-prof`.
      target_link_options(${arg_NAME}_${program} PRIVATE -sENVIRONMENT=node -sEXIT_RUNTIME --profiling-funcs)
    endif()
  endforeach()

  if(EMSCRIPTEN)
    relata_module(${arg_NAME} "${rooms}" bindings/wasm)
    # The first library that has a function gives it.
    relata_module(${arg_NAME}-relaxed "${arg_NAME}_kernels_relaxed;${rooms}" bindings/wasm)
    add_custom_target(modules DEPENDS ${arg_NAME} ${arg_NAME}-relaxed)
    if(NOT arg_THREADS)
      # It reads headers: one of it is enough.
      relata_module(readers "${rooms}" bindings/wasm/readers)
      target_sources(readers PRIVATE bindings/wasm/allocate.cpp bindings/wasm/sprintf.cpp)
      add_dependencies(modules readers)
    endif()
  endif()
endfunction()

# The module of some rooms with the bindings of a folder: <name>.wasm and its glue <name>.js.
function(relata_module name rooms folder)
  file(GLOB bindings CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*.cpp")
  add_executable(${name} ${bindings})
  target_link_libraries(${name} PRIVATE ${rooms})
  # Without run-time type information Embind names types itself.
  target_compile_options(${name} PRIVATE -Oz -flto -fno-exceptions -fno-rtti -DEMSCRIPTEN_HAS_UNBOUND_TYPE_NAMES=0)
  target_link_options(
    ${name}
    PRIVATE
      -fno-exceptions
      -fno-rtti
      -Oz
      -lembind
      --js-library "${PROJECT_SOURCE_DIR}/bindings/wasm/library.js"
      -sDYNAMIC_EXECUTION=0
      -sTEXTDECODER=2
      -sMODULARIZE
      -sEXPORT_ES6
      -sFILESYSTEM=0
      -sINCOMING_MODULE_JS_API=instantiateWasm
      -sINITIAL_MEMORY=4MB
      -sMALLOC=emmalloc
      -sENVIRONMENT=web,worker)
endfunction()

# One room of src as a library, relata_room(<build> <room> <libraries>... [TARGET <name>]). A room of headers alone is
# an interface.
function(relata_room build room)
  cmake_parse_arguments(arg "" "TARGET" "" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${room}/*.cpp")
  set(target ${build}_${room})
  if(arg_TARGET)
    set(target ${arg_TARGET})
  endif()
  if(sources)
    add_library(${target} STATIC ${sources})
    target_link_libraries(${target} PUBLIC ${arg_UNPARSED_ARGUMENTS})
    target_compile_options(${target} PRIVATE -fno-exceptions -fno-rtti)
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${arg_UNPARSED_ARGUMENTS})
  endif()
endfunction()
