"""What every program finds already imported, because programs use it most: it is in the snapshot and costs nothing."""

# isort: off
import __future__, _pylong, abc, argparse, array, atexit, base64, bisect, builtins, calendar, cmath, codecs
import collections, collections.abc, contextlib, copy, csv, dataclasses, datetime, decimal, difflib, enum, fileinput
import fnmatch, fractions, functools, graphlib, hashlib, heapq, inspect, io, itertools, json, keyword, linecache
import logging, marshal, math, numbers, operator, os, pickle, pprint, queue, random, re, reprlib, select, shlex
import statistics, string, struct, sys, textwrap, threading, time, tokenize, traceback, types, typing, unittest.main
import urllib.parse, warnings, weakref
# isort: on
