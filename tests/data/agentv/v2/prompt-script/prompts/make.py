print('Judge it.')
